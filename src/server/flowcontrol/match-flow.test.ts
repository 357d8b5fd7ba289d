import assert from "node:assert/strict";
import { test } from "node:test";
import { read } from "#api/faults.suite.ts";
import { FlowSchema } from "#api/flowcontrol/flow-schema.ts";
import { parseRequestInfo } from "#server/request/request-info.ts";
import { mandatorySchemas, suggestedFlows } from "./bootstrap/bootstrap-flows.ts";
import { createFlowMatcher, inOrder } from "./match-flow.ts";

const defaults = inOrder([...mandatorySchemas, ...suggestedFlows().schemas].map((schema) => read(FlowSchema, schema)));
const infoOf = (method: string, url: string) => {
  const { pathname, searchParams } = new URL(url, "https://server");
  return parseRequestInfo(method, pathname, searchParams);
};
const user = (name: string, ...groups: string[]) => ({ name, groups: [...groups, "system:authenticated"] });
const account = (namespace: string, name: string) =>
  user(`system:serviceaccount:${namespace}:${name}`, "system:serviceaccounts", `system:serviceaccounts:${namespace}`);
const node = user("system:node:n1", "system:nodes");
const nobody = { name: "system:anonymous", groups: ["system:unauthenticated"] };
const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";

const cases = [
  { who: user("root", "system:masters"), method: "DELETE", url: "/api/v1/nodes", schema: "exempt" },
  { who: nobody, method: "GET", url: "/livez/ping", schema: "probes" },
  { who: nobody, method: "GET", url: "/livezz", schema: "global-default" },
  { who: nobody, method: "POST", url: "/livez", schema: "global-default" },
  { who: node, method: "PUT", url: `${leases}/n1`, schema: "system-node-high" },
  { who: node, method: "PATCH", url: "/api/v1/nodes/n1/status", schema: "system-node-high" },
  { who: node, method: "GET", url: "/api/v1/nodes/n1/proxy", schema: "system-nodes" },
  { who: node, method: "GET", url: "/api/v1/pods?watch=1", schema: "system-nodes" },
  { who: user("system:kube-scheduler"), method: "PUT", url: `${leases}/s`, schema: "system-leader-election" },
  { who: user("system:kube-scheduler"), method: "DELETE", url: `${leases}/s`, schema: "kube-scheduler" },
  { who: account("kube-system", "x"), method: "PUT", url: `${leases}/x`, schema: "system-leader-election" },
  { who: account("kube-system", "x"), method: "GET", url: "/api/v1/pods", schema: "kube-system-service-accounts" },
  { who: account("kube-system2", "x"), method: "GET", url: "/api/v1/pods", schema: "service-accounts" },
  { who: user("jane"), method: "GET", url: "/api/v1/pods", schema: "global-default" },
];
for (const { who, method, url, schema } of cases) {
  test(`${method} ${url} of ${who.name} belongs to ${schema}`, () => {
    const matched = createFlowMatcher(defaults).match(who, infoOf(method, url));

    assert.equal(matched?.metadata.name, schema);
  });
}

const schemaOf = (name: string, matchingPrecedence: number, rule: object) =>
  read(FlowSchema, {
    metadata: { name },
    spec: { priorityLevelConfiguration: { name: "x" }, matchingPrecedence, rules: [rule] },
  });
const subjects = [{ kind: "User", user: { name: "jane" } }];

test("the lowest precedence counts, then the name", () => {
  const rule = { subjects, nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }] };
  const schemas = inOrder([
    schemaOf("c", 5, rule),
    schemaOf("b", 4, rule),
    schemaOf("a", 5, rule),
    schemaOf("d", 4, rule),
  ]);

  assert.deepEqual(
    schemas.map(({ metadata }) => metadata.name),
    ["b", "d", "a", "c"],
  );
  assert.equal(createFlowMatcher(schemas).match(user("jane"), infoOf("GET", "/x"))?.metadata.name, "b");
});

test("namespaces and the cluster scope are matched separately", () => {
  const rule = { verbs: ["list"], apiGroups: [""], resources: ["pods"], namespaces: ["shop"] };
  const inShop = createFlowMatcher([schemaOf("a", 5, { subjects, resourceRules: [rule] })]);
  const everywhere = { ...rule, namespaces: [], clusterScope: true };
  const inAll = createFlowMatcher([schemaOf("a", 5, { subjects, resourceRules: [everywhere] })]);

  const matches = (matcher: typeof inAll, url: string) => matcher.match(user("jane"), infoOf("GET", url)) !== undefined;
  assert.deepEqual(
    ["/api/v1/namespaces/shop/pods", "/api/v1/namespaces/other/pods", "/api/v1/pods"].map((url) => [
      matches(inShop, url),
      matches(inAll, url),
    ]),
    [
      [true, false],
      [false, false],
      [false, true],
    ],
  );
});

test("a schema that has not changed is not read again", () => {
  let reads = 0;
  const schema = read(FlowSchema, suggestedFlows().schemas[0] ?? {});
  const { rules } = schema.spec;
  const get = () => {
    reads++;
    return rules;
  };
  const spec = Object.defineProperty({ ...schema.spec }, "rules", { get });
  const counted = { ...schema, spec };

  createFlowMatcher([counted]);
  createFlowMatcher([counted, ...defaults]);

  assert.equal(reads, 1);
});
