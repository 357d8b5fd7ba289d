import assert from "node:assert/strict";
import { test } from "node:test";
import { blankRequestInfo } from "#server/request/request-info.ts";
import { abac, parseAbacFile } from "./abac.ts";

const spec = (fields: object) =>
  JSON.stringify({ apiVersion: "abac.authorization.kubernetes.io/v1beta1", kind: "Policy", spec: fields });
const file = [
  "# who may do what",
  "",
  spec({ user: "alice", namespace: "*", resource: "*", apiGroup: "*" }),
  spec({ user: "kubelet", namespace: "*", resource: "pods", readonly: true }),
  spec({ group: "dev", namespace: "shop", resource: "deployments", apiGroup: "apps" }),
  spec({ group: "system:authenticated", readonly: true, nonResourcePath: "/healthz/*" }),
  spec({ user: "bob", group: "ops", namespace: "ops", resource: "secrets" }),
  spec({ user: "*", nonResourcePath: "/version" }),
  spec({ namespace: "*", resource: "*", apiGroup: "*", nonResourcePath: "*" }),
  JSON.stringify({ user: "old", readonly: true }),
  JSON.stringify({ group: "former", namespace: "shop", resource: "pods" }),
].join("\n");
const authorizer = abac(parseAbacFile(file, "policies"));

const resource = (verb: string, [namespace, group, plural]: readonly [string, string, string]) => ({
  ...blankRequestInfo,
  isResource: true,
  ...{ verb, namespace, group, resource: plural },
});
const path = (verb: string, of: string) => ({ ...blankRequestInfo, verb, path: of });
const user = (name: string, ...groups: string[]) => ({ name, groups: [...groups, "system:authenticated"] });
const pods = ["shop", "", "pods"] as const;

const cases: readonly [
  name: string,
  who: ReturnType<typeof user>,
  what: typeof blankRequestInfo,
  isAllowed: boolean,
][] = [
  ["all of the API", user("alice"), resource("delete", pods), true],
  ["no other path", user("alice"), path("get", "/metrics"), false],
  ["to read pods", user("kubelet"), resource("watch", pods), true],
  ["not to write what is read-only", user("kubelet"), resource("create", pods), false],
  ["not another group of the same name", user("kubelet"), resource("get", ["shop", "metrics.k8s.io", "pods"]), false],
  ["what a group may", user("jane", "dev"), resource("create", ["shop", "apps", "deployments"]), true],
  ["not in another namespace", user("jane", "dev"), resource("create", ["ops", "apps", "deployments"]), false],
  ["a path that begins so", user("jane"), path("get", "/healthz/etcd"), true],
  ["not to change such a path", user("jane"), path("post", "/healthz/etcd"), false],
  ["not a path that only looks so", user("jane"), path("get", "/healthzz"), false],
  ["what needs user and group", user("bob", "ops"), resource("get", ["ops", "", "secrets"]), true],
  ["not without the group", user("bob"), resource("get", ["ops", "", "secrets"]), false],
  ["a star to the authenticated", user("jane"), path("get", "/version"), true],
  [
    "a star not to the anonymous",
    { name: "system:anonymous", groups: ["system:unauthenticated"] },
    path("get", "/version"),
    false,
  ],
  ["nothing by a line for nobody", user(""), resource("get", pods), false],
  ["all by an old line", user("old"), resource("get", ["shop", "apps", "deployments"]), true],
  ["paths by an old line", user("old"), path("get", "/metrics"), true],
  ["one resource by an old line", user("jim", "former"), resource("create", ["shop", "any", "pods"]), true],
  ["no path by such a line", user("jim", "former"), path("get", "/metrics"), false],
];
for (const [name, who, what, isAllowed] of cases) {
  test(`ABAC allows ${name}`, () => {
    assert.deepEqual(
      authorizer.authorize(who, what),
      isAllowed ? { verdict: "allow", reason: "" } : { verdict: "no opinion", reason: "No policy matched." },
    );
  });
}

test("ABAC lists what a user may do in a namespace", () => {
  const reading = ["get", "list", "watch"];
  assert.deepEqual(authorizer.rulesFor?.(user("kubelet"), "shop"), {
    rules: [{ verbs: reading, apiGroups: [""], resources: ["pods"] }],
    faults: [],
  });
  assert.deepEqual(authorizer.rulesFor?.(user("jane"), "").rules, [
    { verbs: reading, nonResourceURLs: ["/healthz/*"] },
    { verbs: ["*"], nonResourceURLs: ["/version"] },
  ]);
});

const refused: readonly [line: string, message: RegExp][] = [
  ["{", /^policies:2: .*JSON.*: a line must be \{/],
  ["[]", /^policies:2: it is not a JSON object/],
  [spec({ user: 7 }), /^policies:2: user must be a text, not 7/],
  [spec({ user: "a", readonly: "yes" }), /^policies:2: readonly must be true or false/],
  [
    '{"apiVersion":"v9","kind":"Policy"}',
    /^policies:2: apiVersion must be abac.authorization.kubernetes.io\/v1beta1, not "v9"/,
  ],
  ['{"kind":"Role"}', /^policies:2: kind must be Policy, not "Role"/],
];
for (const [line, message] of refused) {
  test(`ABAC refuses a file with the line ${line}`, () => {
    assert.throws(() => parseAbacFile(`# first\n${line}\n`, "policies"), { name: "ConfigFileError", message });
  });
}
