import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Deployment } from "#api/apps/deployment.ts";
import { Lease } from "#api/coordination/lease.ts";
import { ConfigMap } from "#api/core/config-map.ts";
import { Namespace } from "#api/core/namespace.ts";
import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { Secret } from "#api/core/secret.ts";
import { Service } from "#api/core/service.ts";
import { ServiceAccount } from "#api/core/service-account.ts";
import { type UserInfo } from "#api/exchange.ts";
import { ClusterRole } from "#api/rbac/cluster-role.ts";
import { ClusterRoleBinding } from "#api/rbac/cluster-role-binding.ts";
import { type PolicyRule } from "#api/rbac/policy-rule.ts";
import { Role } from "#api/rbac/role.ts";
import { RoleBinding } from "#api/rbac/role-binding.ts";
import { type Subject } from "#api/rbac/subject.ts";
import { type AssembledServer, assembleApiServer } from "#cluster/api-server.ts";
import { bootstrapCluster } from "#cluster/bootstrap.ts";
import { neverAborted } from "#lib/async/tasks.ts";
import { signingKey } from "#lib/crypto/jwt.ts";
import { createKey, keyToPem } from "#lib/crypto/x509.ts";
import { seededRandom } from "#lib/data/random.ts";
import { silentLog } from "#lib/process/log.ts";
import { anonymousUser } from "#server/authenticate/anonymous.ts";
import { streamEndpoints } from "#server/streams/all.ts";
import { openMemoryStore } from "#store/memory.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { groups, plainRows, type Row, requestOf } from "./user-by-verb.suite.ts";

/**
 * A request, the response to authorised users, and the rights that are enough: semicolons separate alternatives, and +
 * means both. Every user in the table has exactly one of these alternatives, and gets 403 in every other row.
 *
 * Paths are in the namespace `shop`, or have `all:` before them. A right may end in the :name of an object or in the
 * @namespace that it is bound in. All writes are dry. WATCH is a GET, APPLY and JSON are PATCH, AS is a GET of a pod as
 * somebody else.
 */
const table = `
  GET    pods/web                               200  get pods; get pods:web; get pods@shop; get *; * pods
  GET    pods/missing                           404  get pods; get pods@shop; get *; * pods
  GET    pods                                   200  list pods; list pods@shop; * pods
  GET    all:pods                               200  list pods; * pods
  GET    pods?fieldSelector=metadata.name=web   200  list pods; list pods@shop; list pods:web; * pods
  WATCH  pods                                   200  watch pods; * pods
  WATCH  all:pods                               200  watch pods; * pods
  WATCH  pods?fieldSelector=metadata.name=web   200  watch pods; watch pods:web; * pods
  POST   pods                                   201  create pods; * pods
  PUT    pods/web                               200  update pods; update pods:web; * pods
  PUT    pods/missing                           404  update pods; * pods
  PATCH  pods/web                               200  patch pods; patch pods:web; * pods
  PATCH  pods/missing                           404  patch pods; * pods
  JSON   pods/web                               200  patch pods; patch pods:web; * pods
  APPLY  pods/web                               200  patch pods; patch pods:web; * pods
  APPLY  pods/missing                           201  patch pods + create pods; * pods
  DELETE pods/web                               200  delete pods; delete pods:web; * pods
  DELETE pods/missing                           404  delete pods; * pods
  DELETE pods                                   200  deletecollection pods; * pods
  DELETE pods?fieldSelector=metadata.name=web   200  deletecollection pods; * pods

  GET    pods/web/status                        200  get pods/status; get *
  PUT    pods/web/status                        200  update pods/status
  PATCH  pods/web/status                        200  patch pods/status
  APPLY  pods/web/status                        200  patch pods/status
  APPLY  pods/missing/status                    404  patch pods/status
  GET    pods/web/ephemeralcontainers           200  get pods/ephemeralcontainers; get *
  PUT    pods/web/ephemeralcontainers           200  update pods/ephemeralcontainers
  PATCH  pods/web/ephemeralcontainers           200  patch pods/ephemeralcontainers
  GET    pods/web/resize                        200  get pods/resize; get *
  PUT    pods/web/resize                        200  update pods/resize
  PATCH  pods/web/resize                        200  patch pods/resize
  POST   pods/free/binding                      201  create pods/binding
  POST   bindings                               201  create bindings
  POST   pods/web/eviction                      201  create pods/eviction; create pods/eviction:web
  GET    pods/web/log                           500  get pods/log; get pods/log:web; get */log; get *
  GET    pods/web/exec                          400  get pods/exec + create pods/exec
  POST   pods/web/exec                          400  create pods/exec; get pods/exec + create pods/exec
  GET    pods/web/attach                        400  get pods/attach + create pods/attach
  POST   pods/web/attach                        400  create pods/attach
  GET    pods/web/portforward                   400  get pods/portforward + create pods/portforward
  POST   pods/web/portforward                   400  create pods/portforward
  GET    pods/web/proxy/x                       400  get pods/proxy; get *
  POST   pods/web/proxy/x                       400  create pods/proxy
  PUT    pods/web/proxy/x                       400  update pods/proxy
  DELETE pods/web/proxy/x                       400  delete pods/proxy
  GET    services/web/proxy/x                   503  get services/proxy; get *
  GET    all:nodes/n1/proxy/pods                503  get nodes/proxy; get *

  GET    secrets/s                              200  get secrets; get secrets:s; get *
  GET    secrets/other                          404  get secrets; get *
  GET    secrets                                200  list secrets
  GET    configmaps/c                           200  get configmaps; get *
  APPLY  configmaps/new                         201  patch configmaps + create configmaps
  POST   configmaps                             201  create configmaps
  GET    all:nodes/n1                           200  get nodes; get *
  GET    all:nodes                              200  list nodes
  PATCH  all:nodes/n1                           200  patch nodes
  PATCH  all:nodes/n1/status                    200  patch nodes/status
  GET    all:namespaces/shop                    200  get namespaces; get namespaces@shop; get *
  GET    all:namespaces                         200  list namespaces
  POST   all:namespaces                         201  create namespaces
  DELETE all:namespaces/shop                    200  delete namespaces
  PUT    all:namespaces/shop/finalize           200  update namespaces/finalize
  PUT    all:namespaces/shop/status             200  update namespaces/status
  GET    serviceaccounts/default                200  get serviceaccounts; get *
  POST   serviceaccounts/default/token          201  create serviceaccounts/token; create serviceaccounts/token:default
  GET    deployments/web                        200  get deployments
  GET    deployments/web/scale                  200  get deployments/scale; get */scale
  PUT    deployments/web/scale                  200  update deployments/scale
  PATCH  deployments/web/scale                  200  patch deployments/scale
  PATCH  deployments/web/status                 200  patch deployments/status
  PUT    leases/a                               200  update leases; update leases + create leases
  PUT    leases/new                             201  update leases + create leases; update leases + create leases:new
  PUT    services/new                           201  update services + create services

  POST   roles (empty)                          201  create roles
  POST   roles (secrets)                        201  create roles + escalate roles; create roles + get secrets
  PATCH  roles/none (secrets)                   200  patch roles + escalate roles; patch roles + escalate roles:none
  PUT    roles/new (secrets)                    201  update roles + create roles + escalate roles
  POST   rolebindings (view)                    201  create rolebindings + bind clusterroles; create rolebindings + bind clusterroles:view
  POST   all:clusterroles (gathering)           201  create clusterroles + escalate clusterroles
  POST   all:clusterrolebindings (view)         201  create clusterrolebindings + bind clusterroles

  AS     jane                                   200  impersonate users; impersonate users:jane; impersonate:user-info users + impersonate-on:user-info:get pods; impersonate:user-info users:jane + impersonate-on:user-info:get pods:web
  AS     jane group=dev                         200  impersonate users + impersonate groups; impersonate users + impersonate groups:dev; impersonate:user-info users + impersonate-on:user-info:get pods + impersonate:user-info groups
  AS     jane group=system:masters              200  impersonate users + impersonate groups
  AS     jane uid=7                             200  impersonate users + impersonate uids
  AS     jane extra-scopes=view                 200  impersonate users + impersonate userextras/scopes
  AS     jane extra-acme.io%2fteam=red          200  impersonate users + impersonate userextras/acme.io/team; impersonate:user-info users + impersonate-on:user-info:get pods + impersonate:user-info userextras/acme.io/team
  AS     system:serviceaccount:shop:robot       200  impersonate serviceaccounts; impersonate serviceaccounts@shop; impersonate:serviceaccount serviceaccounts + impersonate-on:serviceaccount:get pods; impersonate:serviceaccount serviceaccounts@shop + impersonate-on:serviceaccount:get pods@shop
  AS     system:node:n1                         200  impersonate:arbitrary-node nodes + impersonate-on:arbitrary-node:get pods; impersonate:arbitrary-node nodes:n1 + impersonate-on:arbitrary-node:get pods

  POST   all:subjectaccessreviews               201  create subjectaccessreviews
  POST   localsubjectaccessreviews              201  create localsubjectaccessreviews
  POST   all:tokenreviews                       201  create tokenreviews
  POST   all:selfsubjectaccessreviews           201  everyone
  GET    /version                               200  everyone
  GET    /apis                                  200  everyone
  GET    /metrics                               200  get /metrics; get /m*; get /*
  POST   /metrics                               405  post /metrics
  GET    /orlop/trace/pods/shop/web             200  get /orlop/*; get /*
`;

/** Rights that allow nothing in the table: near misses, and spellings that are not wildcards. */
const useless = [
  "get pods/*",
  "get pods@other",
  "get pod",
  "GET pods",
  "proxy pods",
  "get metrics",
  "get /metrics/",
  "create pods:web",
  "impersonate:user-info users",
  "impersonate-on:user-info:get pods",
  "impersonate:associated-node nodes + impersonate-on:associated-node:get pods",
];

const rows: readonly Row[] = table
  .split("\n")
  .filter((line) => line.trim() !== "")
  .map((line) => {
    const found = /^\s*(\S+)\s+(\S+)(?: (\(\w+\)|[\w.%-]+=\S+))?\s+(\d{3})\s+(.*)$/.exec(line);
    assert(found, line);
    const [, method = "", target = "", variant = "", status = "", enough = ""] = found;
    return { method, target, variant, status: Number(status), enough: enough.split(";").map((one) => one.trim()) };
  });

/** Every user in the table, by their rights. */
const users: readonly string[] = [...new Set([...rows.flatMap(({ enough }) => enough), ...useless])].filter(
  (rights) => rights !== "everyone",
);
/** Users of the rows for plain kinds. They are tried where their verb or their kind is asked for. */
const plainUsers = plainRows.map(({ enough }) => enough[0] ?? "");
const wideUsers = ["get *", "* pods", "get /*", "list pods", "delete pods", "get pods@shop"];
const triedOn = ({ enough: [own = ""] }: Row): readonly string[] => {
  const [verb, kind] = own.split(" ");
  const isNear = (rights: string) => rights.split(" ").some((part) => part === verb || part === kind);
  return [...plainUsers.filter(isNear), ...wideUsers];
};

const rightsOf = (text: string): string[] => text.split("+").map((one) => one.trim());
const may = (user: string, { enough }: Row): boolean =>
  enough.includes("everyone") ||
  enough.some((alternative) => rightsOf(alternative).every((right) => rightsOf(user).includes(right)));

let api: AssembledServer;

before(async () => {
  const clock = createVirtualClock();
  const store = openMemoryStore({ clock });
  const key = signingKey(keyToPem(createKey()));
  const base = { clock, log: silentLog, random: seededRandom(1) };
  const node = () => ({ key: "", cert: "", ca: "" });
  api = await assembleApiServer({
    ...base,
    store,
    signingKey: key,
    serverAddress: "127.0.0.1:6443",
    subresources: (deps) => streamEndpoints({ ...deps, ...base, node }),
  });
  await bootstrapCluster(api.loopback);
  await fill();
  await Promise.all([...users, ...plainUsers].map((rights, index) => grant(rights, index)));
  await api.loopback.create(ClusterRoleBinding, bindingOf("everything", "cluster-admin", [subjectOf("jane"), robot]));
});
after(() => api[Symbol.asyncDispose]());

async function fill(): Promise<void> {
  const { loopback: client } = api;
  const place = { namespace: "shop" };
  const spec = { containers: [{ name: "web", image: "web:1" }] };
  for (const name of ["shop", "other"]) await client.create(Namespace, { metadata: { name } });
  await client.create(ServiceAccount, { metadata: { ...place, name: "default" } });
  await client.create(Node, {
    metadata: { name: "n1" },
    status: {
      addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
      daemonEndpoints: { kubeletEndpoint: { Port: 1 } },
    },
  });
  await client.create(Pod, { metadata: { ...place, name: "web" }, spec: { ...spec, nodeName: "n1" } });
  await client.create(Pod, { metadata: { ...place, name: "free" }, spec });
  await client.create(Secret, { metadata: { ...place, name: "s" } });
  await client.create(ConfigMap, { metadata: { ...place, name: "c" } });
  await client.create(Service, { metadata: { ...place, name: "web" }, spec: { ports: [{ port: 80 }] } });
  await client.create(Lease, { metadata: { ...place, name: "a" }, spec: {} });
  await client.create(Role, { metadata: { ...place, name: "none" }, rules: [] });
  const labels = { app: "web" };
  await client.create(Deployment, {
    metadata: { ...place, name: "web" },
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  });
}

const nameOf = (rights: string): string => `user who may ${rights}`;
const userOf = (rights: string): UserInfo => ({ name: nameOf(rights), groups: ["system:authenticated"] });
const apiGroup = "rbac.authorization.k8s.io";
const subjectOf = (name: string) => ({ kind: "User", apiGroup, name });
const robot = { kind: "ServiceAccount", namespace: "shop", name: "robot" };
const bindingOf = (name: string, role: string, subjects: Subject[]) => ({
  metadata: { name },
  roleRef: { apiGroup, kind: "ClusterRole", name: role },
  subjects,
});

async function grant(rights: string, number: number): Promise<void> {
  const user = subjectOf(nameOf(rights));
  for (const [index, right] of rightsOf(rights).entries()) {
    const [text = "", namespace] = right.split("@");
    const name = `${number}-${index}`;
    await api.loopback.create(ClusterRole, { metadata: { name }, rules: [ruleOf(text)] });
    const binding = bindingOf(name, name, [user]);
    if (!namespace) await api.loopback.create(ClusterRoleBinding, binding);
    else await api.loopback.create(RoleBinding, { ...binding, metadata: { name, namespace } });
  }
}

/** `get pods/log:web` or `get /metrics`. */
function ruleOf(right: string): PolicyRule {
  const [verb = "", what = ""] = right.split(" ");
  if (what.startsWith("/")) return { verbs: [verb], nonResourceURLs: [what] };
  const [resource = "", name] = what.split(":");
  const [plural = ""] = resource.split("/");
  const known = verb.startsWith("impersonate:") ? "authentication.k8s.io" : groups[plural];
  const group = resource === "*/scale" ? "*" : (known ?? "");
  return { verbs: [verb], apiGroups: [group], resources: [resource], ...(name ? { resourceNames: [name] } : {}) };
}

async function statusOf(row: Row, user: UserInfo): Promise<number> {
  const { method, path, query, headers, body } = await requestOf(row, api.loopback);
  const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
  const peer = { address: "127.0.0.1", user };
  const { wire } = await api.server.serve({ method, path, query, headers, body: bytes, signal: neverAborted, peer });
  if (wire.type === "upgrade") return 101;
  return wire.type === "watch" ? 200 : wire.status;
}

for (const row of [...rows, ...plainRows]) {
  const line = [row.method, row.target, row.variant].filter(Boolean).join(" ");
  test(`${line} is answered with ${row.status} only to those with enough rights`, async () => {
    const wrong: string[] = [];
    for (const rights of plainRows.includes(row) ? triedOn(row) : users) {
      const expected = may(rights, row) ? row.status : 403;
      const status = await statusOf(row, userOf(rights));
      if (status !== expected) wrong.push(`${rights}: ${status} instead of ${expected}`);
    }

    assert.deepEqual(wrong, []);
    const forNobody = row.target === "/version" ? 200 : 403;
    assert.equal(await statusOf(row, anonymousUser), forNobody);
  });
}

test("every right of the table allows something, except for those in `useless`", () => {
  const idle = users.filter((rights) => !rows.some((row) => !row.enough.includes("everyone") && may(rights, row)));

  assert(rows.length * users.length > 10_000);
  assert(rows.length + plainRows.length > 300);
  assert.deepEqual(idle, useless);
});
