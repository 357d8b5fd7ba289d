import assert from "node:assert/strict";
import { test } from "node:test";
import { Deployment } from "#api/apps/deployment.ts";
import { ConfigMap } from "#api/core/config-map.ts";
import { Pod } from "#api/core/pod.ts";
import { ServiceAccount } from "#api/core/service-account.ts";
import { isAlreadyExists } from "#api/status.ts";
import { assembleApiServer } from "#cluster/api-server.ts";
import { bootstrapCluster } from "#cluster/bootstrap.ts";
import { nextTurn } from "#lib/async/turns.ts";
import { signingKey } from "#lib/crypto/jwt.ts";
import { createKey, keyToPem } from "#lib/crypto/x509.ts";
import { jsonLog, silentLog } from "#lib/process/log.ts";
import { openMemoryStore } from "#store/memory.ts";
import { ask } from "#testing/peers/ask.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";

const path = "/api/v1/namespaces/default/configmaps";
const refTo = (name: string) => ({ namespace: "default", name });

async function clusterWith(...maps: { name: string; data?: Record<string, string> }[]): Promise<TestCluster> {
  const cluster = await startCluster({ controllers: false });
  for (const { name, data = {} } of maps) await cluster.client.create(ConfigMap, { metadata: refTo(name), data });
  return cluster;
}

test("fields that admission adds have no owner", async () => {
  await using cluster = await startCluster({ controllers: false });
  const place = { namespace: "default" };
  await cluster.client.create(ServiceAccount, { metadata: { name: "default", ...place } });

  const pod = await cluster.client.create(Pod, {
    metadata: { name: "web", ...place },
    spec: { containers: [{ name: "web", image: "registry.example/web:1" }] },
  });

  const [entry] = pod.metadata.managedFields ?? [];
  const fields = entry?.fieldsV1 as { "f:spec": object };
  assert.ok(pod.spec.volumes?.[0]?.name.startsWith("kube-api-access-"));
  assert.deepEqual(Object.keys(fields["f:spec"]), [
    "f:containers",
    "f:dnsPolicy",
    "f:enableServiceLinks",
    "f:restartPolicy",
    "f:schedulerName",
    "f:securityContext",
    "f:terminationGracePeriodSeconds",
  ]);
});

test("copies of a sound pod are still judged by what makes them different", async () => {
  await using cluster = await startCluster({ controllers: false });
  const place = { namespace: "default" };
  await cluster.client.create(ServiceAccount, { metadata: { name: "default", ...place } });
  const create = (metadata: object, spec = {}) =>
    cluster.client.create(Pod, {
      metadata: { ...place, ...metadata } as { name: string; namespace: string },
      spec: { containers: [{ name: "web", image: "registry.example/web:1" }], ...spec },
    });

  const first = await create({ name: "a" });
  const second = await create({ name: "b", labels: { app: "web" } });

  const volumes = (pod: Pod) => pod.spec.volumes?.map(({ projected }) => projected);
  assert.deepEqual({ ...second.spec, volumes: 0, containers: 0 }, { ...first.spec, volumes: 0, containers: 0 });
  assert.deepEqual(volumes(second), volumes(first));
  assert.deepEqual(await cluster.client.get(Pod, refTo("b")), second);
  await assert.rejects(create({ name: "C" }), { reason: "Invalid", message: /metadata.name: Invalid value: "C"/ });
  await assert.rejects(create({ name: "d", labels: { "-": "" } }), { reason: "Invalid", message: /metadata.labels/ });
  await assert.rejects(create({ name: "e" }, { hostname: "-" }), { reason: "Invalid", message: /spec.hostname/ });
  await assert.rejects(create({ name: "e" }, { hostname: "-" }), { reason: "Invalid", message: /spec.hostname/ });
});

test("a client is warned about each copy of a pod that is probably not intended", async () => {
  await using cluster = await startCluster({ controllers: false });
  const metadata = { namespace: "default" };
  await cluster.client.create(ServiceAccount, { metadata: { name: "default", ...metadata } });
  const containers = [{ name: "web", image: "registry.example/web:1" }];
  const spec = { containers, nodeSelector: { "beta.kubernetes.io/os": "linux" } };

  for (const name of ["a", "b"]) {
    const body = { metadata: { name, ...metadata }, spec };
    const { warnings } = await ask(cluster.api.server, "POST /api/v1/namespaces/default/pods", { body });
    assert.match(String(warnings), /beta.kubernetes.io\/os/);
  }
});

test("an object larger than the body limit is refused, even from within the process", async () => {
  await using cluster = await startCluster({ controllers: false });
  const metadata = { name: "web", namespace: "default" };
  await cluster.client.create(ServiceAccount, { metadata: { ...metadata, name: "default" } });
  const spec = { containers: [{ name: "web", image: "registry.example/web:1" }] };
  const pod = await cluster.client.create(Pod, { metadata, spec });
  const message = "x".repeat(4 << 20);
  const tooLarge = { message: "Request entity too large: limit is 3145728", reason: "RequestEntityTooLarge" };

  await assert.rejects(cluster.client.updateStatus(Pod, { ...pod, status: { ...pod.status, message } }), tooLarge);
  const large = { name: "web", image: "a", env: [{ name: "A", value: message }] };
  const other = { ...metadata, name: "large" };
  await assert.rejects(cluster.client.create(Pod, { metadata: other, spec: { containers: [large] } }), tooLarge);

  assert.equal((await cluster.client.get(Pod, metadata)).status?.message, undefined);
});

test("a patch of the status does not modify the cached object", async () => {
  await using cluster = await startCluster({ controllers: false });
  const place = { namespace: "default" };
  await cluster.client.create(ServiceAccount, { metadata: { name: "default", ...place } });
  const before = await cluster.client.create(Pod, {
    metadata: { name: "web", labels: { app: "web" }, ...place },
    spec: { containers: [{ name: "web", image: "registry.example/web:1" }] },
  });

  const patch = { type: "strategic", body: { status: { phase: "Running" } } } as const;
  const after = await cluster.client.patch(Pod, { name: "web", ...place }, patch, { subresource: "status" });

  assert.equal(before.status?.phase, "Pending");
  assert.equal(after.status?.phase, "Running");
  assert.deepEqual(after.spec, before.spec);
  assert.notEqual(after.metadata.resourceVersion, before.metadata.resourceVersion);
});

test("an update without a change writes nothing, whoever sends it", async () => {
  await using cluster = await clusterWith({ name: "a", data: { color: "red" } });
  const stored = await cluster.client.get(ConfigMap, refTo("a"));
  const { revision } = cluster.store;
  await cluster.clock.advance(60_000);

  const same = await cluster.client.update(ConfigMap, stored, { fieldManager: "other" });
  const applied = { metadata: refTo("b"), data: { color: "blue" } };
  const first = await cluster.apply(ConfigMap, applied);
  await cluster.clock.advance(60_000);
  const second = await cluster.apply(ConfigMap, applied);

  assert.equal(same.metadata.resourceVersion, stored.metadata.resourceVersion);
  assert.equal(second.metadata.resourceVersion, first.metadata.resourceVersion);
  assert.equal(cluster.store.revision, revision + 1);
});

test("an object with a resourceVersion cannot be created", async () => {
  await using cluster = await clusterWith();
  const body = (resourceVersion: string) => ({ metadata: { name: "a", resourceVersion } });
  const post = (object: object) => ask(cluster.api.server, `POST ${path}`, { body: object });

  const refused = await post(body("7"));

  assert.deepEqual(
    [refused.status, refused.json.reason, refused.json.message],
    [500, undefined, "resourceVersion should not be set on objects to be created"],
  );
  assert.equal((await post(body("0"))).status, 201);
});

const puts: readonly { claim: string; name?: string; metadata: object; status: number }[] = [
  { claim: "of a missing object is not found", name: "none", metadata: { name: "none" }, status: 404 },
  { claim: "under another name is refused", metadata: { name: "b" }, status: 400 },
  { claim: "without a name is refused", metadata: {}, status: 400 },
  { claim: "from another namespace is refused", metadata: { name: "a", namespace: "other" }, status: 400 },
  { claim: "of an older revision conflicts", metadata: { name: "a", resourceVersion: "1" }, status: 409 },
  { claim: "of another object of that name conflicts", metadata: { name: "a", uid: "other" }, status: 409 },
  { claim: "without a revision is accepted", metadata: { name: "a" }, status: 200 },
  {
    claim: "of another time of creation is accepted",
    metadata: { name: "a", creationTimestamp: "2020-01-01T00:00:00Z" },
    status: 200,
  },
  {
    claim: "that begins a deletion is refused",
    metadata: { name: "a", deletionTimestamp: "2020-01-01T00:00:00Z" },
    status: 422,
  },
  { claim: "of revision 0 is accepted", metadata: { name: "a", resourceVersion: "0" }, status: 200 },
];
for (const { claim, name = "a", metadata, status } of puts) {
  test(`a PUT ${claim}`, async () => {
    await using cluster = await clusterWith({ name: "a" });

    const said = await ask(cluster.api.server, `PUT ${path}/${name}`, { body: { metadata, data: { color: "red" } } });

    assert.equal(said.status, status, String(said.json.message));
  });
}

const mismatches: readonly { sent: object; says: string }[] = [
  {
    sent: { kind: "Widget" },
    says: 'Widget in version "v1" cannot be handled as a ConfigMap: no kind "Widget" is registered for version "v1"',
  },
  {
    sent: { apiVersion: "example.com/v7" },
    says: 'ConfigMap in version "v7" cannot be handled as a ConfigMap: no kind "ConfigMap" is registered for version "example.com/v7"',
  },
  { sent: { apiVersion: "v1", kind: "Secret" }, says: 'Secret in version "v1" cannot be handled as a ConfigMap' },
];
for (const { sent, says } of mismatches) {
  test(`a body with ${JSON.stringify(sent)} is refused as upstream does`, async () => {
    await using cluster = await clusterWith();

    const said = await ask(cluster.api.server, `POST ${path}`, { body: { metadata: { name: "a" }, ...sent } });

    assert.equal(said.status, 400);
    assert.equal(String(said.json.message).replace(/ in scheme .*/, ""), says);
  });
}

test("a dry run goes through all steps and writes nothing", async () => {
  await using cluster = await clusterWith({ name: "a", data: { color: "red" } });
  const { client, store } = cluster;
  const { revision } = store;
  const data = { color: "blue" };
  const dryRun = { dryRun: true };

  const created = await client.create(ConfigMap, { metadata: refTo("b"), data }, dryRun);
  const updated = await client.update(ConfigMap, { metadata: refTo("a"), data }, dryRun);
  const patched = await client.patch(ConfigMap, refTo("a"), { type: "merge", body: { data } }, dryRun);
  const applied = await client.apply(ConfigMap, { metadata: refTo("c"), data }, { fieldManager: "test", ...dryRun });
  await assert.rejects(client.create(ConfigMap, { metadata: refTo("a") }, dryRun), isAlreadyExists);

  assert.ok(created.metadata.uid);
  assert.equal(created.metadata.resourceVersion, undefined);
  assert.deepEqual([updated.data, patched.data, applied.data], [data, data, data]);
  assert.equal(store.revision, revision);
});

test("a status is changed by its own endpoint and by no other", async () => {
  await using cluster = await clusterWith();
  const { client } = cluster;
  const labels = { app: "web" };
  const template = { metadata: { labels }, spec: { containers: [{ name: "web", image: "registry.example/web:1" }] } };
  const spec = { replicas: 1, selector: { matchLabels: labels }, template };
  const status = { replicas: 9 };
  const created = await client.create(Deployment, { metadata: { ...refTo("web"), labels }, spec, status });

  const changed = { ...spec, replicas: 5 };
  const metadata = { ...refTo("web"), labels: { app: "other" }, annotations: { note: "x" } };
  const reported = await client.updateStatus(Deployment, { metadata, spec: changed, status });
  const scaled = await client.update(Deployment, { metadata: refTo("web"), spec: changed, status: { replicas: 1 } });

  assert.deepEqual(created.status, {});
  assert.deepEqual(reported.status, status);
  assert.equal(reported.spec.replicas, 1);
  assert.deepEqual(reported.metadata.labels, labels);
  assert.deepEqual(reported.metadata.annotations, { note: "x" });
  assert.deepEqual(scaled.status, status);
  const generations = [created, reported, scaled].map(({ metadata: { generation } }) => generation);
  assert.deepEqual(generations, [1, 1, 2]);
});

test("a generated name that is taken is generated again, a limited number of times", async () => {
  const clock = createVirtualClock();
  await using store = openMemoryStore({ clock });
  const numbers: number[] = [];
  const random = () => numbers.shift() ?? 0.5;
  const signing = signingKey(keyToPem(createKey()));
  const serverAddress = "127.0.0.1:6443";
  await using api = await assembleApiServer({
    store,
    clock,
    log: silentLog,
    random,
    signingKey: signing,
    serverAddress,
  });
  const client = api.clientFor({ name: "admin", groups: ["system:masters"] });
  await bootstrapCluster(client);
  const create = () => client.create(ConfigMap, { metadata: { namespace: "default", generateName: "a-" } });

  numbers.push(0, 0, 0, 0, 0);
  const first = await create();
  numbers.push(0, 0, 0, 0, 0);
  const second = await create();

  assert.equal(first.metadata.name, "a-bbbbb");
  assert.match(second.metadata.name, /^a-[b-df-hj-np-tv-xz2456789]{5}$/);
  assert.equal(second.metadata.managedFields?.length, 1);
  await assert.rejects(create(), (error) => {
    assert.ok(isAlreadyExists(error));
    assert.match(error.message, /already exists, the server was not able to generate a unique name for the object$/);
    return true;
  });
});

test("the changes of many concurrent writers are all kept", async () => {
  await using cluster = await clusterWith({ name: "a" });
  const { client } = cluster;
  const keys = Array.from({ length: 15 }, (_, index) => `key-${index}`);

  await Promise.all(
    keys.map((key) => client.patch(ConfigMap, refTo("a"), { type: "merge", body: { data: { [key]: "x" } } })),
  );
  await Promise.all(
    keys.map((key) => client.apply(ConfigMap, { metadata: refTo("b"), data: { [key]: "x" } }, { fieldManager: key })),
  );

  for (const name of ["a", "b"]) {
    const { data = {} } = await client.get(ConfigMap, refTo(name));
    assert.deepEqual(Object.keys(data).sort(), keys.toSorted());
  }
});

test("a status update gets no warnings about the rest of the object", async () => {
  await using cluster = await clusterWith();
  await cluster.client.create(ServiceAccount, { metadata: refTo("default") });
  const pods = "/api/v1/namespaces/default/pods";
  const spec = { containers: [{ name: "web", image: "registry.example/web:1" }] };
  const metadata = { name: "web", annotations: { "seccomp.security.alpha.kubernetes.io/pod": "runtime/default" } };

  const created = await ask(cluster.api.server, `POST ${pods}`, { body: { metadata, spec } });
  const reported = await ask(cluster.api.server, `PUT ${pods}/web/status`, { body: { metadata, spec, status: {} } });

  assert.equal(created.warnings.length > 0, true);
  assert.deepEqual(reported.warnings, []);
});

/** How many turns of the event loop others got while the work was going on. */
async function turnsDuring(work: Promise<unknown>): Promise<number> {
  let isDone = false;
  work.finally(() => (isDone = true)).catch(() => undefined);
  let turns = 0;
  for (; !isDone; turns++) await nextTurn();
  await work;
  return turns;
}

for (const [verb, line, type] of [
  ["create", "POST ", "application/json"],
  ["update", "PUT /web", "application/json"],
  ["patch", "PATCH /web", "application/merge-patch+json"],
  ["apply", "PATCH /web?fieldManager=me&force=true", "application/apply-patch+yaml"],
] as const) {
  test(`others get their turn between the steps of a long ${verb}`, async () => {
    await using cluster = await clusterWith(...(verb === "create" ? [] : [{ name: "web" }]));
    const bodyOf = (value: string) => ({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "web" },
      data: { value },
    });
    const [method, rest] = line.split(" ");
    const join = rest?.includes("?") ? "&" : "?";
    const write = (value: string) =>
      turnsDuring(
        ask(cluster.api.server, `${method} ${path}${rest}${join}dryRun=All`, {
          body: bodyOf(value),
          headers: { "content-type": type },
        }),
      );

    const short = await write("x");
    const long = await write("x".repeat(100_000));

    assert.ok(long >= short + 3, `${long} turns during the long one, ${short} during the short one`);
  });
}

for (const [verb, query, type] of [
  ["patch", "", "application/merge-patch+json"],
  ["apply", "?fieldManager=me&force=true", "application/apply-patch+yaml"],
] as const) {
  const many = (prefix: string, value: string) =>
    Object.fromEntries(Array.from({ length: 9_000 }, (_, at) => [prefix + at, value]));
  for (const [what, added] of [
    ["more values than a body", { binaryData: many("b", "eA=="), metadata: { name: "web", labels: many("c", "x") } }],
    ["a longer map than a body", { data: many("b", "x") }],
  ] as const) {
    test(`a ${verb} cannot give an object ${what} may have`, async () => {
      await using cluster = await clusterWith({ name: "web", data: many("a", "x") });
      const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "web" }, ...added };

      const said = await ask(cluster.api.server, `PATCH ${path}/web${query}`, {
        body,
        headers: { "content-type": type },
      });

      assert.equal(said.status, 413);
      assert.equal(Object.keys((await cluster.client.get(ConfigMap, refTo("web"))).data ?? {}).length, 9_000);
    });
  }
}

test("a write after the shutdown is refused, and not logged as an error", async () => {
  const lines: string[] = [];
  const cluster = await startCluster({ controllers: false, log: jsonLog((line) => void lines.push(line)) });
  await cluster.store[Symbol.asyncDispose]();

  const said = await ask(cluster.api.server, "POST /api/v1/namespaces/default/configmaps", {
    body: { metadata: { name: "late" } },
  });
  await cluster[Symbol.asyncDispose]();

  assert.equal(said.status, 503);
  assert.deepEqual(lines, []);
});
