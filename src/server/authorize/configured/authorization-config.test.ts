import assert from "node:assert/strict";
import { test } from "node:test";
import { parseConfig } from "#server/config/config-file.ts";
import { authorizationConfig } from "./authorization-config.ts";

const webhook = {
  timeout: "3s",
  subjectAccessReviewVersion: "v1",
  failurePolicy: "Deny",
  connectionInfo: { type: "KubeConfigFile", kubeConfigFile: "/etc/webhook.yaml" },
};
const parse = (authorizers: unknown) =>
  parseConfig(
    authorizationConfig,
    JSON.stringify({ apiVersion: "apiserver.config.k8s.io/v1", kind: "AuthorizationConfiguration", authorizers }),
    "authz.yaml",
  );
const hook = (change: object = {}) => ({ type: "Webhook", name: "remote", webhook: { ...webhook, ...change } });

const conditional = (...expressions: string[]) =>
  hook({
    matchConditions: expressions.map((expression) => ({ expression })),
    matchConditionSubjectAccessReviewVersion: "v1",
  });

test("authorizationConfig fills in how long answers are remembered", async () => {
  const { authorizers } = await parse([hook(), { type: "Node", name: "node" }, { type: "RBAC", name: "rbac" }]);

  assert.equal(authorizers?.[0]?.webhook?.authorizedTTL, "5m0s");
  assert.equal(authorizers?.[0]?.webhook?.unauthorizedTTL, "30s");
  assert.equal(authorizers?.[0]?.webhook?.cacheAuthorizedRequests, true);
});

const faults: readonly (readonly [authorizers: unknown, message: string | RegExp])[] = [
  [[], "authorizers: Required value: at least one authorization mode must be defined"],
  [[{}], "authorizers[0].type: Required value"],
  [[{ type: "PBAC", name: "pbac" }], /authorizers\[0\].type: Unsupported value: "PBAC": supported values: /],
  [
    [
      { type: "RBAC", name: "rbac" },
      { type: "RBAC", name: "rbac" },
    ],
    'authorizers[1].type: Duplicate value: "RBAC"',
  ],
  [[{ type: "RBAC", name: "mine" }], /authorizers\[0\].name: .*expected name rbac for authorizer RBAC/],
  [[hook(), hook()], 'authorizers[1].name: Duplicate value: "remote"'],
  [[{ ...hook(), name: "a b" }], /authorizers\[0\].name: .*authorizer name is invalid/],
  [[{ type: "Webhook", name: "a" }], "authorizers[0].webhook: Required value: required when type=Webhook"],
  [[{ type: "RBAC", name: "rbac", webhook }], /authorizers\[0\].webhook: .*may only be specified when type=Webhook/],
  [[hook({ timeout: "31s" })], /authorizers\[0\].webhook.timeout: .*must be > 0s and <= 30s/],
  [[hook({ timeout: undefined })], "authorizers[0].webhook.timeout: Required value"],
  [[hook({ authorizedTTL: "-1s" })], /webhook.authorizedTTL: .*must be > 0s/],
  [[hook({ failurePolicy: "Ignore" })], /webhook.failurePolicy: Unsupported value: "Ignore"/],
  [[hook({ connectionInfo: { type: "KubeConfigFile" } })], /connectionInfo.kubeConfigFile: Required value/],
  [[hook({ connectionInfo: { type: "KubeConfigFile", kubeConfigFile: "a" } })], /must be an absolute path/],
  [[hook({ connectionInfo: { type: "InClusterConfig" } })], /connectionInfo.type: .*name a kubeconfig file/],
  [[conditional("")], /matchConditions\[0\].expression: Required value/],
  [[conditional("true", "true")], /matchConditions\[1\].expression: Duplicate value/],
  [[conditional("request.user")], /must evaluate to bool but got string/],
  [[conditional("request.nope")], /authorizers\[0\].webhook.matchConditions\[0\].expression: .*undefined field 'nope'/],
  [[hook({ matchConditions: [{ expression: "true" }] })], /matchConditionSubjectAccessReviewVersion: Required value/],
  [[conditional(...Array.from({ length: 65 }, (_, index) => `${index} > 0`))], /matchConditions: Too many: 65/],
  [[hook({ ttl: 1 })], /authorizers\[0\].webhook.ttl: there is no such field/],
];
for (const [authorizers, message] of faults) {
  test(`authorizationConfig refuses ${JSON.stringify(authorizers)}`, async () => {
    const expected = typeof message === "string" ? `authz.yaml: ${message}` : message;
    await assert.rejects(parse(authorizers), { name: "ConfigFileError", message: expected });
  });
}
