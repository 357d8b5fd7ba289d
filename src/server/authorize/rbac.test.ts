import assert from "node:assert/strict";
import { test } from "node:test";
import { type UserInfo } from "#api/exchange.ts";
import { ClusterRole } from "#api/rbac/cluster-role.ts";
import { ClusterRoleBinding } from "#api/rbac/cluster-role-binding.ts";
import { type PolicyRule } from "#api/rbac/policy-rule.ts";
import { Role } from "#api/rbac/role.ts";
import { RoleBinding } from "#api/rbac/role-binding.ts";
import { type ApiObject, type InputOf, type Resource } from "#api/resource.ts";
import { type StatusError } from "#api/status.ts";
import { checkEscalation } from "#server/admission/escalation.ts";
import { type AdmissionRequest } from "#server/admission/plugin.ts";
import { type RequestInfo } from "#server/request/pipeline.ts";
import { blankRequestInfo } from "#server/request/request-info.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import { decide } from "./chain.ts";
import { forbiddenRequest } from "./forbidden.ts";
import { privileged } from "./privileged.ts";
import { createRbac } from "./rbac.ts";

const info = (part: Partial<RequestInfo>): RequestInfo => ({
  ...blankRequestInfo,
  isResource: true,
  verb: "get",
  version: "v1",
  resource: "pods",
  namespace: "shop",
  ...part,
});
const jane: UserInfo = { name: "jane", groups: ["dev", "system:authenticated"] };

function setUp() {
  const informers = createFakeInformers();
  const rbac = createRbac({ informers });
  const apiGroup = "rbac.authorization.k8s.io";
  return {
    informers,
    rbac,
    ask: async (user: UserInfo, part: Partial<RequestInfo>) => decide([privileged, rbac], user, info(part)),
    clusterRole: (name: string, ...rules: PolicyRule[]) => informers.put(ClusterRole, { metadata: { name }, rules }),
    role: (name: string, ...rules: PolicyRule[]) =>
      informers.put(Role, { metadata: { name, namespace: "shop" }, rules }),
    bindCluster: (name: string, role: string, subject: { kind: string; name: string; namespace?: string }) =>
      informers.put(ClusterRoleBinding, {
        metadata: { name },
        roleRef: { apiGroup, kind: "ClusterRole", name: role },
        subjects: [subject],
      }),
    bind: (name: string, [kind, role]: [string, string], subject: { kind: string; name: string; namespace?: string }) =>
      informers.put(RoleBinding, {
        metadata: { name, namespace: "shop" },
        roleRef: { apiGroup, kind, name: role },
        subjects: [subject],
      }),
  };
}
const podReader: PolicyRule = { verbs: ["get", "list"], apiGroups: [""], resources: ["pods", "pods/log"] };

test("a cluster role binding allows access everywhere and gives the reason", async () => {
  const { ask, clusterRole, bindCluster } = setUp();
  clusterRole("reader", podReader);
  bindCluster("devs", "reader", { kind: "Group", name: "dev" });

  const reason = 'RBAC: allowed by ClusterRoleBinding "devs" of ClusterRole "reader" to Group "dev"';
  assert.deepEqual(await ask(jane, {}), { verdict: "allow", reason });
  assert.equal((await ask(jane, { subresource: "log", namespace: "other" })).verdict, "allow");
  assert.equal((await ask(jane, { subresource: "exec" })).verdict, "no opinion");
  assert.equal((await ask(jane, { verb: "delete" })).verdict, "no opinion");
  assert.equal((await ask({ name: "max", groups: [] }, {})).verdict, "no opinion");
});

test("a role binding allows access only in its namespace, including to service accounts of that namespace", async () => {
  const { ask, role, bind } = setUp();
  role("reader", podReader);
  bind("web", ["Role", "reader"], { kind: "ServiceAccount", name: "web" });
  const web = { name: "system:serviceaccount:shop:web", groups: [] };

  const reason = 'RBAC: allowed by RoleBinding "web/shop" of Role "reader" to ServiceAccount "web/shop"';
  assert.deepEqual(await ask(web, {}), { verdict: "allow", reason });
  assert.equal((await ask(web, { namespace: "other" })).verdict, "no opinion");
  assert.equal((await ask(web, { namespace: "" })).verdict, "no opinion");
});

test("a decision is forgotten when a role or a binding changes", async () => {
  const { ask, clusterRole, bindCluster, informers } = setUp();
  clusterRole("reader", podReader);
  assert.equal((await ask(jane, {})).verdict, "no opinion");

  bindCluster("devs", "reader", { kind: "User", name: "jane" });
  assert.equal((await ask(jane, {})).verdict, "allow");
  clusterRole("reader", { ...podReader, verbs: ["list"] });
  assert.equal((await ask(jane, {})).verdict, "no opinion");
  informers.delete(ClusterRoleBinding, { name: "devs" });
  assert.equal((await ask(jane, { verb: "list" })).verdict, "no opinion");
});

test("cache keys never confuse a path with a resource, or one text with two", async () => {
  const { ask, clusterRole, bindCluster } = setUp();
  clusterRole("paths", { verbs: ["get"], nonResourceURLs: ["*"] });
  bindCluster("b", "paths", { kind: "User", name: "jane" });
  const path = "//secrets/ victim";
  const secrets = { resource: "secrets", namespace: "victim" };

  assert.equal((await ask(jane, { isResource: false, path })).verdict, "allow");
  assert.equal((await ask(jane, { isResource: false, path: "2,0,7 getsecrets" })).verdict, "allow");
  assert.equal((await ask(jane, secrets)).verdict, "no opinion");

  clusterRole("paths", { verbs: ["get"], apiGroups: ["a"], resources: ["bc"] });
  assert.equal((await ask(jane, { group: "a", resource: "bc" })).verdict, "allow");
  for (const part of [
    { group: "ab", resource: "c" },
    { group: "", resource: "abc" },
    { group: "a", resource: "b", subresource: "c" },
  ]) {
    assert.equal((await ask(jane, part)).verdict, "no opinion", JSON.stringify(part));
  }
});

test("a binding does not count in a namespace whose name looks like part of its subject", async () => {
  const { ask, role, bind } = setUp();
  role("reader", podReader);
  bind("b", ["Role", "reader"], { kind: "User", name: "alice user mallory" });
  const mallory = { name: "mallory", groups: [] };

  for (const namespace of ["shop user alice", "shopuseralice ", "shop user alice user "]) {
    assert.equal((await ask(mallory, { namespace })).verdict, "no opinion", namespace);
  }
});

test("requests for things that do not exist leave nothing in the cache", async () => {
  const { ask, rbac, role, bind, clusterRole, bindCluster } = setUp();
  role("reader", podReader);
  bind("b", ["Role", "reader"], { kind: "User", name: "jane" });
  clusterRole("lister", { verbs: ["list"], apiGroups: [""], resources: ["*"] });
  bindCluster("c", "lister", { kind: "User", name: "jane" });
  await ask(jane, {});
  await ask(jane, { verb: "list" });
  const before = rbac.rememberedChars;

  for (let at = 0; at < 1000; at++) {
    await ask(jane, { namespace: `junk-${at}`, name: `x-${at}` });
    await ask(jane, { verb: "list", namespace: `junk-${at}` });
    await ask(jane, { isResource: false, path: `/junk/${at}` });
    await ask(jane, { resource: `junk${at}`, verb: `junk${at}` });
  }

  assert.equal(rbac.rememberedChars, before);
});

test("the cache is bounded, however many users are allowed however much", async () => {
  const { ask, rbac, clusterRole, bindCluster } = setUp();
  clusterRole("all", { verbs: ["*"], apiGroups: ["*"], resources: ["*"] }, { verbs: ["*"], nonResourceURLs: ["*"] });
  bindCluster("b", "all", { kind: "Group", name: "dev" });
  const long = "x".repeat(24_000);

  for (let at = 0; at < 10; at++) {
    assert.equal((await ask(jane, { isResource: false, path: `/${long}${at}` })).verdict, "allow");
    assert.equal((await ask({ name: `${long}${at}`, groups: ["dev"] }, {})).verdict, "allow");
  }
  assert(rbac.rememberedChars < 5000);
  const most: number[] = [];
  for (let at = 0; at < 50_000; at++) {
    await ask(jane, { resource: `${at}` });
    most.push(rbac.rememberedChars);
  }
  assert(Math.max(...most.slice(-40_000)) <= 4 * 1024 * 1024);
  assert((most.at(-1) ?? 0) < (most.at(30_000) ?? 0));
});

test("a user whose name is too long to cache loses rights as soon as others", async () => {
  const { ask, informers, clusterRole, bindCluster } = setUp();
  clusterRole("reader", podReader);
  bindCluster("devs", "reader", { kind: "Group", name: "dev" });
  const member = { name: "jane", groups: ["dev", "x".repeat(5000)] };
  assert.equal((await ask(member, {})).verdict, "allow");

  informers.delete(ClusterRoleBinding, { name: "devs" });

  assert.equal((await ask(member, {})).verdict, "no opinion");
});

test("the number of rules that apply is limited, and the refusal says so", async () => {
  const { ask, role, bind } = setUp();
  const names = Array.from({ length: 49_990 }, (_, at) => `n${at}`);
  role("large", { ...podReader, resourceNames: names }, { verbs: ["get"], apiGroups: [""], resources: ["secrets"] });
  role("small", { verbs: ["get"], apiGroups: [""], resources: ["services"] });
  bind("a", ["Role", "small"], { kind: "User", name: "jane" });
  bind("b", ["Role", "large"], { kind: "User", name: "jane" });

  assert.equal((await ask(jane, { resource: "services" })).verdict, "allow");
  assert.equal((await ask(jane, { name: "n1" })).verdict, "allow");
  assert.equal((await ask(jane, { resource: "secrets" })).reason, "RBAC: more than 50000 rules apply");
});

test("a rule with names allows only these, and not a list of all", async () => {
  const { ask, role, bind } = setUp();
  role("one", { ...podReader, resourceNames: ["web-0"] });
  bind("b", ["Role", "one"], { kind: "User", name: "jane" });

  assert.equal((await ask(jane, { name: "web-0" })).verdict, "allow");
  assert.equal((await ask(jane, { name: "web-1" })).verdict, "no opinion");
  assert.equal((await ask(jane, { verb: "list" })).verdict, "no opinion");
});

const wildcards: { rule: PolicyRule; yes: Partial<RequestInfo>[]; no: Partial<RequestInfo>[] }[] = [
  {
    rule: { verbs: ["*"], apiGroups: ["*"], resources: ["*"] },
    yes: [{ group: "x", resource: "y", subresource: "z" }],
    no: [{ isResource: false, path: "/metrics" }],
  },
  {
    rule: { verbs: ["get"], apiGroups: ["*"], resources: ["*/scale"] },
    yes: [{ group: "apps", resource: "deployments", subresource: "scale" }],
    no: [{ group: "apps", resource: "deployments" }],
  },
  {
    rule: { verbs: ["get"], nonResourceURLs: ["/healthz", "/apis/*"] },
    yes: [
      { isResource: false, path: "/healthz" },
      { isResource: false, path: "/apis/apps" },
    ],
    no: [{ isResource: false, path: "/healthz/etcd" }, { isResource: false, path: "/apis" }, {}],
  },
];
for (const { rule, yes, no } of wildcards) {
  test(`${JSON.stringify(rule)} matches like upstream`, async () => {
    const { ask, clusterRole, bindCluster } = setUp();
    clusterRole("r", rule);
    bindCluster("b", "r", { kind: "User", name: "jane" });

    for (const part of yes) assert.equal((await ask(jane, part)).verdict, "allow", JSON.stringify(part));
    for (const part of no) assert.equal((await ask(jane, part)).verdict, "no opinion", JSON.stringify(part));
  });
}

test("a binding to a role that does not exist is named in the refusal", async () => {
  const { ask, bindCluster } = setUp();
  bindCluster("b", "ghost", { kind: "User", name: "jane" });

  assert.equal((await ask(jane, {})).reason, 'RBAC: clusterrole.rbac.authorization.k8s.io "ghost" not found');
});

test("system:masters may do anything", async () => {
  const { ask } = setUp();

  assert.equal((await ask({ name: "root", groups: ["system:masters"] }, { verb: "delete" })).verdict, "allow");
});

const refusals = [
  {
    part: { verb: "list" },
    message: 'pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "shop"',
  },
  {
    part: { group: "apps", resource: "deployments", subresource: "scale", name: "web", namespace: "" },
    message:
      'deployments.apps "web" is forbidden: User "jane" cannot get resource "deployments/scale" in API group "apps" at the cluster scope',
  },
  {
    part: { isResource: false, resource: "", namespace: "", path: "/metrics?<b>" },
    message: 'forbidden: User "jane" cannot get path "/metrics?&lt;b&gt;"',
  },
];
for (const { part, message } of refusals) {
  test(`a refusal reads: ${message}`, () => assert.equal(forbiddenRequest(jane, info(part), "").message, message));
}

test("a refusal names the rule that was missing", () => {
  const { details } = forbiddenRequest(jane, info({ verb: "list" }), "");

  assert.deepEqual(details?.causes, [
    { reason: "MissingRule", message: '{apiGroups: [""], resources: ["pods"], verbs: ["list"]}' },
  ]);
});

const write = <T extends ApiObject>(resource: Resource<T>, object: InputOf<T>, user = jane): AdmissionRequest => ({
  operation: "CREATE",
  verb: "create",
  resource,
  subresource: "",
  namespace: resource.scope === "Namespaced" ? "shop" : "",
  name: object.metadata?.name ?? "",
  object: object as ApiObject,
  oldObject: undefined,
  user,
  dryRun: false,
  options: () => undefined,
  signal: new AbortController().signal,
  warn() {},
  ifNotWritten() {},
  annotate() {},
});

test("checkEscalation() refuses rights that the writer does not have", async () => {
  const { rbac, role, bind } = setUp();
  role("reader", podReader);
  bind("b", ["Role", "reader"], { kind: "User", name: "jane" });
  const deps = { rbac, authorizers: [rbac] };
  const own = write(Role, { metadata: { name: "copy" }, rules: [{ ...podReader, verbs: ["get"] }] });
  const more = write(Role, {
    metadata: { name: "more" },
    rules: [{ verbs: ["get", "delete", "create"], apiGroups: [""], resources: ["pods", "secrets"] }],
  });

  await checkEscalation(deps, own);
  await assert.rejects(checkEscalation(deps, more), {
    code: 403,
    message:
      'roles.rbac.authorization.k8s.io "more" is forbidden: user "jane" (groups=["dev" "system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n' +
      '{APIGroups:[""], Resources:["pods"], Verbs:["delete" "create"]}\n' +
      '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "delete" "create"]}',
  });
});

test("checkEscalation() allows users who may escalate or bind", async () => {
  const { rbac, role, bind, clusterRole } = setUp();
  const apiGroups = ["rbac.authorization.k8s.io"];
  clusterRole("power", { verbs: ["*"], apiGroups: ["*"], resources: ["*"] });
  role("granter", { verbs: ["bind"], apiGroups, resources: ["clusterroles"], resourceNames: ["power"] });
  bind("b", ["Role", "granter"], { kind: "User", name: "jane" });
  const deps = { rbac, authorizers: [rbac] };
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "power" };

  await checkEscalation(deps, write(RoleBinding, { metadata: { name: "x" }, roleRef }));
  await assert.rejects(
    checkEscalation(deps, write(ClusterRoleBinding, { metadata: { name: "x" }, roleRef })),
    /clusterrolebindings.rbac.authorization.k8s.io "x" is forbidden: user "jane"/,
  );
  await assert.rejects(
    checkEscalation(deps, write(RoleBinding, { metadata: { name: "x" }, roleRef: { ...roleRef, name: "ghost" } })),
    { code: 404 },
  );
});

test("checkEscalation() refuses a role of 40 million combinations with a short message", async () => {
  const { rbac, role, bind } = setUp();
  role("reader", podReader);
  bind("b", ["Role", "reader"], { kind: "User", name: "jane" });
  const many = (prefix: string) => Array.from({ length: 80 }, (_, at) => `${prefix}${at}`);
  const rule = { verbs: many("v"), apiGroups: many("g"), resources: many("r"), resourceNames: many("n") };

  const refused = checkEscalation(
    { rbac, authorizers: [rbac] },
    write(Role, { metadata: { name: "x" }, rules: [rule] }),
  );

  await assert.rejects(refused, (error: StatusError) => error.code === 403 && error.message.length < 200_000);
});

test("checkEscalation() allows aggregation only to cluster admins", async () => {
  const { rbac } = setUp();
  const gathering = { metadata: { name: "x" }, rules: [], aggregationRule: { clusterRoleSelectors: [{}] } };

  await assert.rejects(checkEscalation({ rbac, authorizers: [rbac] }, write(ClusterRole, gathering)), {
    message:
      'clusterroles.rbac.authorization.k8s.io "x" is forbidden: must have cluster-admin privileges to use the aggregationRule',
  });
});

test("checkEscalation() lets garbage collection change owners and finalizers", async () => {
  const { rbac } = setUp();
  const old = { metadata: { name: "x", finalizers: ["f"] }, rules: [podReader] };
  const request = {
    ...write(Role, { metadata: { name: "x" }, rules: [podReader] }),
    operation: "UPDATE" as const,
    oldObject: old,
  };

  await checkEscalation({ rbac, authorizers: [rbac] }, request);
});

test("with too many bindings, the same ones count regardless of their order", async () => {
  const names = Array.from({ length: 2500 }, (_, n) => `b-${String(n).padStart(4, "0")}`);
  const answers = [];
  for (const order of [names, names.toReversed()]) {
    const { ask, clusterRole, bindCluster } = setUp();
    clusterRole("nothing");
    clusterRole("first", { verbs: ["get"], apiGroups: [""], resources: ["pods"] });
    clusterRole("last", { verbs: ["get"], apiGroups: [""], resources: ["secrets"] });
    const roleOf = (name: string) => (name === names[0] ? "first" : name === names.at(-1) ? "last" : "nothing");
    for (const name of order) bindCluster(name, roleOf(name), { kind: "User", name: "jane" });
    const [pods, secrets] = [await ask(jane, { resource: "pods" }), await ask(jane, { resource: "secrets" })];
    answers.push([pods.verdict, secrets.verdict, /more than 2000 bindings apply/.test(secrets.reason ?? "")]);
  }
  assert.deepEqual(answers, [
    ["allow", "no opinion", true],
    ["allow", "no opinion", true],
  ]);
});
