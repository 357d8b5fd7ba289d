import assert from "node:assert/strict";
import { test } from "node:test";
import { Deployment } from "#api/apps/deployment.ts";
import { ConfigMap } from "#api/core/config-map.ts";
import { Event } from "#api/core/event.ts";
import { Namespace } from "#api/core/namespace.ts";
import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { Secret } from "#api/core/secret.ts";
import { Service } from "#api/core/service.ts";
import { EndpointSlice } from "#api/discovery/endpoint-slice.ts";
import { type UserInfo } from "#api/exchange.ts";
import { ClusterRole } from "#api/rbac/cluster-role.ts";
import { isStatus } from "#api/status.ts";
import { ensureDnsService } from "#dns/dns-service.ts";
import { ask } from "#testing/peers/ask.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";
import { controllerManagerUser, controllerUser, dnsUser, nodeUser, schedulerUser } from "./identities.ts";

/** Writes that the authorizers refused. */
const refusals = ({ api }: TestCluster): string[] =>
  [...api.recorder.all()]
    .filter(({ facts }) => facts?.refusedAt === "authorize")
    .map(({ facts }) => String(facts?.message));

/** Events leave no hops, so their sources show which components were allowed to write one. */
const eventSources = async (cluster: TestCluster): Promise<ReadonlySet<string>> =>
  new Set((await cluster.list(Event)).map(({ source }) => source?.component ?? ""));
const sources = [
  "default-scheduler",
  "deployment-controller",
  "kubelet",
  "node-controller",
  "replicaset-controller",
  "taint-eviction-controller",
];

const template = {
  metadata: { labels: { app: "web" } },
  spec: { containers: [{ name: "web", image: "web:1" }] },
};
const web = {
  metadata: { name: "web", namespace: "shop" },
  spec: { replicas: 3, selector: { matchLabels: { app: "web" } }, template },
};

test("every component can do its work with the rights of its own role", async () => {
  await using cluster = await startCluster({ nodes: 3 });
  const { client } = cluster;
  await client.create(Namespace, { metadata: { name: "shop" } });
  await client.create(ClusterRole, {
    metadata: { name: "more", labels: { "rbac.authorization.k8s.io/aggregate-to-view": "true" } },
    rules: [{ verbs: ["get"], apiGroups: ["acme.com"], resources: ["widgets"] }],
  });
  await client.create(Service, {
    metadata: { name: "web", namespace: "shop" },
    spec: { selector: { app: "web" }, ports: [{ port: 80 }] },
  });
  await client.create(Deployment, web);
  await cluster.settle();
  assert.equal((await cluster.list(Pod, "shop")).length, 3);
  assert.equal((await cluster.list(EndpointSlice, "shop"))[0]?.endpoints.length, 3);
  const view = await client.get(ClusterRole, { name: "view" });
  assert(view.rules.some(({ apiGroups }) => apiGroups?.includes("acme.com")));

  // A rollout, the death of a node with its pods, and the deletion of everything.
  const changed = { ...template, spec: { containers: [{ name: "web", image: "web:2" }] } };
  await client.patch(Deployment, web, { type: "merge", body: { spec: { template: changed } } });
  await cluster.settle();
  await cluster.nodes[0]?.stop();
  await cluster.clock.advance(600_000);
  await client.delete(Node, { name: "node-1" });
  await cluster.clock.advance(120_000);
  await cluster.settle();
  assert((await cluster.list(Pod, "shop")).every(({ spec }) => spec.nodeName !== "node-1"));
  const told = await eventSources(cluster);
  assert.deepEqual(
    sources.filter((source) => !told.has(source)),
    [],
  );
  await client.delete(Namespace, { name: "shop" });
  await cluster.settle();

  assert.deepEqual(await cluster.list(Pod, "shop"), []);
  assert.equal((await cluster.list(ConfigMap, "default"))[0]?.metadata.name, "kube-root-ca.crt");
  assert.deepEqual(refusals(cluster), []);
});

test("a controller whose account has no rules does not start", () => {
  assert.throws(() => controllerUser("unknown-controller"), /unknown-controller has no rules/);
});

/** Who may get and list secrets, as upstream's roles say. */
const secretReaders: readonly { user: UserInfo; get: boolean; list: boolean }[] = [
  ...[
    "service-account-controller",
    "root-ca-cert-publisher",
    "clusterrole-aggregation-controller",
    "node-controller",
    "replicaset-controller",
    "deployment-controller",
    "endpointslice-controller",
    "pod-garbage-collector",
  ].map((account) => ({ user: controllerUser(account), get: false, list: false })),
  // These two must be able to delete every kind of object.
  { user: controllerUser("namespace-controller"), get: true, list: true },
  { user: controllerUser("generic-garbage-collector"), get: true, list: true },
  { user: controllerManagerUser, get: true, list: true },
  { user: schedulerUser, get: false, list: false },
  { user: dnsUser, get: false, list: false },
  { user: nodeUser("node-1"), get: false, list: false },
  { user: { name: "system:kube-proxy", groups: ["system:authenticated"] }, get: false, list: false },
  { user: { name: "kube-apiserver-kubelet-client", groups: ["system:authenticated"] }, get: false, list: false },
];

test("only the components that upstream allows can read secrets", async () => {
  await using cluster = await startCluster({ controllers: false });
  await cluster.client.create(Secret, { metadata: { name: "s", namespace: "default" } });
  const can = async (attempt: Promise<unknown>): Promise<boolean> => {
    try {
      await attempt;
      return true;
    } catch (error) {
      assert(isStatus(error, "Forbidden"), String(error));
      return false;
    }
  };

  for (const { user, get, list } of secretReaders) {
    const client = cluster.clientFor(user);
    assert.equal(await can(client.get(Secret, { namespace: "default", name: "s" })), get, `${user.name} get`);
    assert.equal(await can(client.list(Secret)), list, `${user.name} list`);
    assert(!user.groups.includes("system:masters"), user.name);
  }
});

test("cluster DNS may publish its own Service repeatedly, and no other", async () => {
  await using cluster = await startCluster({ controllers: false });
  const client = cluster.clientFor(dnsUser);
  const place = { clusterIP: "10.96.0.10", address: "10.0.0.5", port: 5353, nodeName: "n1" };

  await ensureDnsService(client, place);
  await ensureDnsService(client, { ...place, port: 5354 });

  const service = await cluster.client.get(Service, { namespace: "kube-system", name: "kube-dns" });
  assert.equal(service.spec.ports?.[0]?.targetPort, 5354);
  const other = { ...service, metadata: { ...service.metadata, name: "other" } };
  await assert.rejects(client.update(Service, other), { code: 403 });
});

test("the name of the API server's own identity grants nothing", async () => {
  await using cluster = await startCluster({ controllers: false });
  const secrets = "GET /api/v1/secrets";
  const { server } = cluster.api;
  const namesake = { name: "system:apiserver", groups: ["system:authenticated"] };
  const headers = { "impersonate-user": "system:apiserver" };

  assert.equal((await ask(server, secrets, { user: namesake })).status, 403);
  assert.equal((await ask(server, secrets, { headers })).status, 403);
  assert.equal((await cluster.api.loopback.list(Secret)).items.length, 0);
});
