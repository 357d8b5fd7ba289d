import assert from "node:assert/strict";
import { test } from "node:test";
import { SelfSubjectReview } from "#api/authentication/self-subject-review.ts";
import { SelfSubjectRulesReview } from "#api/authorization/self-subject-rules-review.ts";
import { ConfigMap } from "#api/core/config-map.ts";
import { Pod } from "#api/core/pod.ts";
import { Secret } from "#api/core/secret.ts";
import { makeFiles, startPlane, startWebhook } from "./security.suite.ts";

test("tokens of Secrets and of a webhook identify callers, and another webhook says what they may do", async () => {
  await using files = await makeFiles();
  await using who = await startWebhook(({ spec }) =>
    spec.token === "jane's" ? { authenticated: true, user: { username: "jane", groups: ["dev"] } } : {},
  );
  await using may = await startWebhook(({ spec }) => ({
    allowed: spec.user === "jane" && JSON.stringify(spec).includes('"namespace":"shop"'),
    denied: spec.user === "system:bootstrap:abcdef",
    reason: "as the webhook says",
  }));
  const webhook = {
    timeout: "3s",
    subjectAccessReviewVersion: "v1",
    failurePolicy: "NoOpinion",
    connectionInfo: { type: "KubeConfigFile", kubeConfigFile: await files.write("may", may.kubeconfig) },
  };
  const configFile = await files.write("authorization.yaml", {
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "AuthorizationConfiguration",
    authorizers: [
      { type: "Webhook", name: "may", webhook },
      { type: "RBAC", name: "rbac" },
    ],
  });
  const tokenWebhook = {
    configFile: await files.write("who", who.kubeconfig),
    version: "v1" as const,
    ttlMs: 60_000,
  };
  const options = { bootstrapTokens: true, anonymous: false, tokenWebhook, authorization: { configFile } };
  await using started = await startPlane(options, files.dir);
  const base64 = (text: string) => Buffer.from(text).toString("base64");
  await started.admin.create(Secret, {
    metadata: { namespace: "kube-system", name: "bootstrap-token-abcdef" },
    type: "bootstrap.kubernetes.io/token",
    data: {
      "token-id": base64("abcdef"),
      "token-secret": base64("0123456789abcdef"),
      "usage-bootstrap-authentication": base64("true"),
    },
  });
  const jane = started.withToken("jane's");

  const self = await jane.create(SelfSubjectReview, { metadata: {} });
  const rules = await jane.create(SelfSubjectRulesReview, { metadata: {}, spec: { namespace: "shop" } });
  await jane.list(Pod, { namespace: "shop" });

  assert.deepEqual(self.status.userInfo, { username: "jane", groups: ["dev", "system:authenticated"] });
  assert.match(rules.status.evaluationError ?? "", /webhook authorizer does not support user rule resolution/);
  assert.equal(rules.status.incomplete, true);
  await assert.rejects(jane.list(ConfigMap, { namespace: "bank" }), {
    code: 403,
    message:
      'configmaps is forbidden: User "jane" cannot list resource "configmaps" in API group "" in the namespace "bank": as the webhook says',
  });
  await assert.rejects(started.withToken("abcdef.0123456789abcdef").list(Pod, { namespace: "shop" }), {
    code: 403,
    message: /User "system:bootstrap:abcdef" cannot list .*: as the webhook says$/,
  });
  await assert.rejects(started.withToken("abcdef.0123456789abcdee").list(Pod, { namespace: "shop" }), { code: 401 });
  await assert.rejects(started.clientWith().raw("GET", "/livez").then(check), { code: 401 });
});

/** Raw answers do not throw. */
const check = ({ status }: { status: number }): void => {
  if (status !== 200) throw Object.assign(new Error(), { code: status });
};

test("a server does not start with an authorisation file that it cannot use", async () => {
  await using files = await makeFiles();
  const configFile = await files.write("authz.yaml", "kind: AuthorizationConfiguration\napiVersion: v1\n");

  await assert.rejects(startPlane({ authorization: { configFile } }, files.dir), {
    name: "ConfigFileError",
    message: /authz.yaml: apiVersion: must be apiserver.config.k8s.io\/v1/,
  });
});
