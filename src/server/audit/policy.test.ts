import assert from "node:assert/strict";
import { test } from "node:test";
import { parseConfig } from "../config/config-file.ts";
import { type RequestInfo } from "../request/pipeline.ts";
import { blankRequestInfo } from "../request/request-info.ts";
import { auditPolicy, scopesOf } from "./policy.ts";

const file = (policy: object): string => JSON.stringify({ apiVersion: "audit.k8s.io/v1", kind: "Policy", ...policy });
const parse = (text: string) => parseConfig(auditPolicy, text, "/etc/policy.yaml");

const alice = { name: "alice", groups: ["dev"] };
const bob = { name: "bob", groups: ["ops", "dev"] };
const about = (info: Partial<RequestInfo>): RequestInfo => ({
  ...blankRequestInfo,
  isResource: true,
  verb: "get",
  ...info,
});
const pod = about({ resource: "pods", namespace: "default", name: "web" });
const log = about({ resource: "pods", namespace: "default", name: "web", subresource: "log" });
const node = about({ resource: "nodes", name: "n1" });
const scale = about({ group: "apps", resource: "deployments", subresource: "scale", namespace: "default" });
const health: RequestInfo = { ...blankRequestInfo, verb: "get", path: "/healthz/etcd" };

const cases: readonly [name: string, rule: object, matches: readonly unknown[]][] = [
  ["a rule without conditions", {}, [pod, log, node, scale, health]],
  ["users", { users: ["alice"] }, [pod, log, node, scale, health]],
  ["other users", { users: ["bob"] }, []],
  ["groups", { userGroups: ["dev"] }, [pod, log, node, scale, health]],
  ["other groups", { userGroups: ["ops"] }, []],
  ["verbs", { verbs: ["list"] }, []],
  ["a kind, without its subresources", { resources: [{ resources: ["pods"] }] }, [pod]],
  ["a subresource", { resources: [{ resources: ["pods/log"] }] }, [log]],
  ["all of a kind", { resources: [{ resources: ["pods/*"] }] }, [pod, log]],
  ["a subresource of all kinds", { resources: [{ group: "*", resources: ["*/scale"] }] }, [scale]],
  ["all kinds of the core group", { resources: [{ group: "", resources: ["*"] }] }, [pod, log, node]],
  ["a group", { resources: [{ group: "apps" }] }, [scale]],
  ["a name", { resources: [{ resources: ["pods"], resourceNames: ["web"] }] }, [pod]],
  ["another name", { resources: [{ resources: ["pods"], resourceNames: ["db"] }] }, []],
  ["a namespace", { namespaces: ["default"] }, [pod, log, scale]],
  ["no namespace", { namespaces: [""] }, [node]],
  ["a path", { nonResourceURLs: ["/healthz*"] }, [health]],
  ["all paths", { nonResourceURLs: ["*"] }, [health]],
  ["another path", { nonResourceURLs: ["/healthz"] }, []],
];
for (const [name, rule, matches] of cases) {
  test(`an audit rule for ${name} matches what upstream's does`, async () => {
    const scopeOf = scopesOf(await parse(file({ rules: [{ level: "Metadata", ...rule }] })));

    const found = [pod, log, node, scale, health].filter((info) => scopeOf(alice, info).level === "Metadata");

    assert.deepEqual(found, matches);
  });
}

test("the first rule that matches decides, and without one nothing is recorded", async () => {
  const policy = await parse(
    file({
      omitStages: ["RequestReceived"],
      omitManagedFields: true,
      rules: [
        { level: "None", users: ["alice"] },
        { level: "Request", omitStages: ["Panic"], omitManagedFields: false, resources: [{ resources: ["pods"] }] },
        { level: "RequestResponse", nonResourceURLs: ["/healthz*"] },
      ],
    }),
  );
  const scopeOf = scopesOf(policy);

  assert.equal(scopeOf(alice, pod).level, "None");
  const scope = scopeOf(bob, pod);
  assert.deepEqual(
    [scope.level, [...scope.omitStages], scope.omitManagedFields],
    ["Request", ["RequestReceived", "Panic"], false],
  );
  assert.equal(scopeOf(bob, health).omitManagedFields, true);
  assert.equal(scopeOf(bob, node).level, "None");
});

const refused: readonly [name: string, text: string, message: RegExp][] = [
  ["no rules", file({}), /rules: Required value: a policy needs at least one rule/],
  ["a rule without a level", file({ rules: [{ users: ["a"] }] }), /rules\[0\].level: Required value/],
  ["an unknown level", file({ rules: [{ level: "All" }] }), /rules\[0\].level: Unsupported value: "All"/],
  ["an unknown field", file({ rules: [{ level: "None", user: "a" }] }), /rules\[0\].user: there is no such field/],
  [
    "an unknown stage",
    file({ omitStages: ["X"], rules: [{ level: "None" }] }),
    /omitStages\[0\]: .*allowed stages are/,
  ],
  [
    "a path without a slash",
    file({ rules: [{ level: "None", nonResourceURLs: ["healthz"] }] }),
    /must begin with a '\/'/,
  ],
  [
    "a star inside a path",
    file({ rules: [{ level: "None", nonResourceURLs: ["/a*b"] }] }),
    /must be the final character/,
  ],
  [
    "names without kinds",
    file({ rules: [{ level: "None", resources: [{ resourceNames: ["a"] }] }] }),
    /requires at least one/,
  ],
  [
    "a version in a group",
    file({ rules: [{ level: "None", resources: [{ group: "apps/v1" }] }] }),
    /resources.group: Invalid/,
  ],
  [
    "kinds and paths",
    file({ rules: [{ level: "None", namespaces: ["a"], nonResourceURLs: ["*"] }] }),
    /cannot apply to both/,
  ],
  ["an old version", '{"kind":"Policy","apiVersion":"audit.k8s.io/v1beta1"}', /apiVersion: must be audit.k8s.io\/v1/],
];
for (const [name, text, message] of refused) {
  test(`an audit policy with ${name} is refused in one line`, async () => {
    await assert.rejects(parse(text), (error: Error) => {
      assert.match(error.message, message);
      assert.match(error.message, /^\/etc\/policy\.yaml: [^\n]*$/);
      return true;
    });
  });
}
