import assert from "node:assert/strict";
import { totalmem } from "node:os";
import { after, before, test } from "node:test";
import { Deployment } from "#api/apps/deployment.ts";
import { ConfigMap } from "#api/core/config-map.ts";
import { Namespace } from "#api/core/namespace.ts";
import { Pod } from "#api/core/pod.ts";
import { ListMeta } from "#api/meta/object-meta.ts";
import { type ApiObject, type Resource } from "#api/resource.ts";
import { type ObjectSchema } from "#schema/schema.ts";
import { PartialObjectMetadata } from "#server/http/respond.ts";
import { historyLimitsOf } from "#store/history.ts";
import { type Frame, listOf, type Message, ProtobufClient, readAs, statusOf, wrap } from "./support/protobuf-client.ts";
import { type RunningServer, startServer } from "./support/server.ts";

let server: RunningServer;
let client: ProtobufClient;
before(async () => {
  server = await startServer();
  client = new ProtobufClient(server);
});
after(async () => {
  await client[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

let namespaces = 0;
async function inNamespace(): Promise<string> {
  const name = `protobuf-${++namespaces}`;
  const { status } = await client.send("POST", "/api/v1/namespaces", wrap(asAny(Namespace), { metadata: { name } }));
  assert.equal(status, 201);
  return `/api/v1/namespaces/${name}`;
}

const asAny = <T extends ApiObject>(resource: Resource<T>): Resource => resource as unknown as Resource;
const objectIn = <T extends ApiObject>(resource: Resource<T>, { raw }: Pick<Message, "raw">): T =>
  readAs(resource.schema as unknown as ObjectSchema<T>, raw);
const listMeta = (raw: Buffer) => readAs(ListMeta as ObjectSchema<ListMeta>, listOf(raw).metadata);
const configMap = (name: string, data: Record<string, string> = {}, labels: Record<string, string> = {}) =>
  wrap(asAny(ConfigMap), { metadata: { name, labels }, data });
const partial = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const partialList = partial.replace("ObjectMetadata;", "ObjectMetadataList;");

async function take(watch: AsyncGenerator<Frame>, count: number): Promise<Frame[]> {
  const frames: Frame[] = [];
  for await (const frame of watch) {
    frames.push(frame);
    if (frames.length === count) break;
  }
  return frames;
}

test("create, get, update and delete use protobuf in both directions", async () => {
  const path = `${await inNamespace()}/configmaps`;

  const created = await client.send("POST", path, configMap("settings", { color: "blue" }));
  const got = await client.send("GET", `${path}/settings`);
  const { metadata } = objectIn(ConfigMap, got);
  const changed = wrap(asAny(ConfigMap), { metadata, data: { color: "green", empty: "" } });
  const updated = await client.send("PUT", `${path}/settings`, changed);
  const stale = await client.send("PUT", `${path}/settings`, changed);
  const deleted = await client.send("DELETE", `${path}/settings`);
  const gone = await client.send("GET", `${path}/settings`);

  for (const { contentType } of [created, got, updated, stale, deleted, gone])
    assert.equal(contentType, "application/vnd.kubernetes.protobuf");
  assert.deepEqual([created.status, created.apiVersion, created.kind], [201, "v1", "ConfigMap"]);
  assert.deepEqual(objectIn(ConfigMap, created), objectIn(ConfigMap, got));
  assert.deepEqual(objectIn(ConfigMap, updated).data, { color: "green", empty: "" });
  assert.deepEqual([stale.status, stale.kind, statusOf(stale).reason], [409, "Status", "Conflict"]);
  assert.deepEqual([deleted.status, deleted.kind, statusOf(deleted).status], [200, "Status", "Success"]);
  assert.deepEqual([gone.status, statusOf(gone).message], [404, 'configmaps "settings" not found']);
});

test("a pod and a Deployment come back with all defaults", async () => {
  const path = await inNamespace();
  const spec = {
    containers: [
      { name: "web", image: "nginx", ports: [{ containerPort: 80 }], resources: { requests: { cpu: "250m" } } },
    ],
  };
  const labels = { app: "web" };
  const deployment = {
    metadata: { name: "web" },
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  };

  const pod = objectIn(
    Pod,
    await client.send("POST", `${path}/pods`, wrap(asAny(Pod), { metadata: { name: "web" }, spec })),
  );
  const made = objectIn(
    Deployment,
    await client.send(
      "POST",
      `${path.replace("/api/v1", "/apis/apps/v1")}/deployments`,
      wrap(asAny(Deployment), deployment),
    ),
  );

  const [container] = pod.spec.containers;
  assert.equal(container?.imagePullPolicy, "Always");
  assert.deepEqual(container?.ports, [{ containerPort: 80, protocol: "TCP" }]);
  assert.deepEqual(container?.resources.requests, { cpu: "250m" });
  assert.equal(pod.status?.qosClass, "Burstable");
  assert.deepEqual([made.spec.replicas, made.spec.revisionHistoryLimit], [1, 10]);
  assert.equal(made.spec.strategy.rollingUpdate?.maxSurge, "25%");
});

test("lists, whole and in chunks", async () => {
  const path = `${await inNamespace()}/configmaps`;
  for (const name of ["a", "b", "c", "d", "e"])
    await client.send("POST", path, configMap(name, {}, { group: name < "c" ? "low" : "high" }));
  const namesIn = ({ raw }: Message): (string | undefined)[] =>
    listOf(raw).items.map((item) => objectIn(ConfigMap, { raw: item }).metadata.name);

  const some = await client.send("GET", `${path}?labelSelector=group%3Dlow`);
  const first = await client.send("GET", `${path}?limit=2&labelSelector=group`);
  const token = encodeURIComponent(listMeta(first.raw).continue ?? "");
  const second = await client.send("GET", `${path}?limit=2&labelSelector=group&continue=${token}`);

  assert.deepEqual([some.kind, some.apiVersion, namesIn(some)], ["ConfigMapList", "v1", ["a", "b"]]);
  assert.deepEqual(
    [namesIn(first), namesIn(second)],
    [
      ["a", "b"],
      ["c", "d"],
    ],
  );
  assert.equal(listMeta(second.raw).resourceVersion, listMeta(first.raw).resourceVersion);
});

test("watches send frames, bookmarks and errors", async () => {
  const path = `${await inNamespace()}/configmaps`;
  await client.send("POST", path, configMap("a", { n: "0" }, { seen: "yes" }));
  const query =
    "watch=true&labelSelector=seen&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";

  const watch = client.watch(`${path}?${query}`);
  const initial = await watch.next();
  const bookmark = await watch.next();
  await client.send("POST", path, configMap("b", {}, { seen: "yes" }));
  await client.send("PUT", `${path}/a`, configMap("a", { n: "1" }, { seen: "yes" }));
  await client.send("PUT", `${path}/b`, configMap("b"));
  await client.send("DELETE", `${path}/a`);
  const changes = await take(watch, 4);

  const seen = ({ type, raw }: Frame): string => `${type} ${objectIn(ConfigMap, { raw }).metadata.name}`;
  assert(initial.value && bookmark.value);
  assert.equal(seen(initial.value), "ADDED a");
  assert.equal(bookmark.value.type, "BOOKMARK");
  assert.deepEqual(objectIn(ConfigMap, bookmark.value).metadata.annotations, { "k8s.io/initial-events-end": "true" });
  assert.deepEqual(changes.map(seen), ["ADDED b", "MODIFIED a", "DELETED b", "DELETED a"]);
  await client.send("POST", path, configMap("large"));
  const size = 1_000_000;
  const kept = historyLimitsOf(totalmem()).maxBytes;
  for (let written = 0; written < kept * 1.2; written += size)
    await client.send("PUT", `${path}/large`, configMap("large", { text: String(written).padEnd(size) }));
  const old = await take(client.watch(`${path}?watch=true&resourceVersion=5`), 1);
  assert.deepEqual([old[0]?.type, old[0]?.kind], ["ERROR", "Status"]);
  const { code, reason } = statusOf(old[0] ?? { raw: Buffer.alloc(0) });
  assert.deepEqual([code, reason], [410, "Expired"]);
});

test("partial metadata of one object, of a list and in a watch", async () => {
  const path = `${await inNamespace()}/configmaps`;
  await client.send("POST", path, configMap("a", { a: "payload" }, { group: "g" }));
  const nameIn = (raw: Buffer): string | undefined =>
    readAs(PartialObjectMetadata as unknown as ObjectSchema<ApiObject>, raw).metadata.name;

  const one = await client.send("GET", `${path}/a`, undefined, partial);
  const list = await client.send("GET", `${path}?labelSelector=group`, undefined, partialList);
  const [frame] = await take(client.watch(`${path}?watch=true&labelSelector=group`, partial), 1);

  assert.deepEqual([one.status, one.kind, one.apiVersion], [200, "PartialObjectMetadata", "meta.k8s.io/v1"]);
  assert.equal(nameIn(one.raw), "a");
  assert.doesNotMatch(one.raw.toString("latin1"), /payload/);
  assert.deepEqual([list.kind, listOf(list.raw).items.map(nameIn)], ["PartialObjectMetadataList", ["a"]]);
  assert.deepEqual(
    [frame?.type, frame?.kind, nameIn(frame?.raw ?? Buffer.alloc(0))],
    ["ADDED", "PartialObjectMetadata", "a"],
  );
});

test("errors are a Status in protobuf, even for malformed bodies", async () => {
  const path = `${await inNamespace()}/configmaps`;
  const invalid = await client.send("POST", path, configMap("Not Valid"));
  const garbage = await client.send("POST", path, Buffer.from("k8s\0\xff\xff\xff"));
  const json = await client.send("POST", path, Buffer.from('{"kind":"ConfigMap"}'));
  const forbidden = await client.send("POST", "/api/v1/namespaces/nowhere/configmaps", configMap("a"));

  assert.deepEqual([invalid.status, statusOf(invalid).reason], [422, "Invalid"]);
  assert.deepEqual(
    statusOf(invalid).details?.causes?.map(({ field }) => field),
    ["metadata.name"],
  );
  assert.deepEqual([garbage.status, statusOf(garbage).reason], [400, "BadRequest"]);
  assert.match(
    statusOf(json).message ?? "",
    /does not appear to be a protobuf message, expected prefix \[107 56 115 0\]/,
  );
  assert.deepEqual([forbidden.status, statusOf(forbidden).message], [404, 'namespaces "nowhere" not found']);
});
