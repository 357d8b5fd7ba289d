import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { allResources } from "#api/all.ts";
import { ConfigMap } from "#api/core/config-map.ts";
import { Namespace } from "#api/core/namespace.ts";
import { type Resource } from "#api/resource.ts";
import { decodeProtobuf } from "#schema/protobuf/protobuf-decode.ts";
import { decodeEnvelope } from "#schema/protobuf/protobuf-envelope.ts";
import { ask, follow, type Said } from "#testing/peers/ask.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";
import { PartialObjectMetadata } from "./respond.ts";

let cluster: TestCluster;
before(async () => {
  cluster = await startCluster({ controllers: false });
  const metadata = { namespace: "default", name: "a", labels: { color: "red" } };
  await cluster.client.create(ConfigMap, { metadata, data: { key: "value" } });
});
after(() => cluster[Symbol.asyncDispose]());

const table = "application/json;as=Table;g=meta.k8s.io;v=v1";
const partial = (kind: string, type = "json") => `application/${type};as=${kind};g=meta.k8s.io;v=v1`;
const path = "/api/v1/namespaces/default/configmaps";
const get = (url: string, accept: string): Promise<Said> =>
  ask(cluster.api.server, `GET ${url}`, { headers: { accept } });
const row = ({ json }: Said) => (json.rows as unknown as readonly { cells: unknown[]; object?: object }[])[0];

const pathOf = ({ group, version, plural }: Resource): string =>
  group ? `/apis/${group}/${version}/${plural}` : `/api/${version}/${plural}`;

for (const resource of allResources.filter(({ verbs }) => verbs.includes("list"))) {
  test(`${resource.plural} are listed as a table, as metadata, as YAML and as protobuf`, async () => {
    const asTable = await get(pathOf(resource), table);
    const asMetadata = await get(pathOf(resource), partial("PartialObjectMetadataList"));
    const asYaml = await get(pathOf(resource), "application/yaml");
    const asProtobuf = await get(pathOf(resource), "application/vnd.kubernetes.protobuf");

    assert.equal(asTable.json.kind, "Table");
    const columns = asTable.json.columnDefinitions as unknown as readonly { name: string; type: string }[];
    assert.equal(columns.some(({ name }) => name === "Name") || resource.plural === "events", true);
    assert.ok(columns.every(({ name, type }) => (type === "date") === (name === "Created At")));
    assert.equal(asMetadata.json.kind, "PartialObjectMetadataList");
    assert.match(Buffer.from(asYaml.bytes).toString(), new RegExp(`^kind: ${resource.listKind}$`, "m"));
    assert.equal(decodeEnvelope(asProtobuf.bytes).kind, resource.listKind);
  });
}

const included: Readonly<Record<string, readonly string[]>> = {
  "": ["kind", "apiVersion", "metadata"],
  "includeObject=Metadata": ["kind", "apiVersion", "metadata"],
  "includeObject=Object": ["kind", "apiVersion", "metadata", "data"],
  "includeObject=None": [],
};
for (const [query, members] of Object.entries(included)) {
  test(`a row of a table has ${members.join(", ") || "no object"} for ${query || "nothing"}`, async () => {
    const one = row(await get(`${path}/a?${query}`, table));
    const many = row(await get(`${path}?${query}`, table));

    assert.deepEqual(one?.cells.slice(0, 2), ["a", 1]);
    assert.deepEqual(Object.keys(one?.object ?? {}), members);
    assert.deepEqual(Object.keys(many?.object ?? {}), members);
  });
}

test("a table that includes something unknown is refused before anything is done", async () => {
  const body = { metadata: { name: "never" } };
  const said = await ask(cluster.api.server, `POST ${path}?includeObject=Soul`, { headers: { accept: table }, body });

  assert.equal(said.status, 400);
  assert.equal((await get(`${path}/never`, "application/json")).status, 404);
});

test("partial metadata is served as JSON and as protobuf, for objects and lists", async () => {
  const one = await get(`${path}/a`, partial("PartialObjectMetadata"));
  const binary = await get(`${path}/a`, partial("PartialObjectMetadata", "vnd.kubernetes.protobuf"));
  const many = await get(path, partial("PartialObjectMetadataList"));

  assert.deepEqual(Object.keys(one.json), ["kind", "apiVersion", "metadata"]);
  assert.deepEqual(many.items, [one.json]);
  const { kind, apiVersion, raw } = decodeEnvelope(binary.bytes);
  assert.deepEqual([kind, apiVersion], ["PartialObjectMetadata", "meta.k8s.io/v1"]);
  const { metadata } = decodeProtobuf(PartialObjectMetadata, raw) as { metadata: { labels: object } };
  assert.deepEqual(metadata.labels, { color: "red" });
});

test("tables and partial metadata are also served as v1beta1", async () => {
  const beta = (kind: string, type?: string) => partial(kind, type).replace("v=v1", "v=v1beta1");
  const asTable = await get(path, beta("Table"));
  const one = await get(`${path}/a`, beta("PartialObjectMetadata"));
  const many = await get(path, beta("PartialObjectMetadataList"));
  const yaml = await get(path, beta("PartialObjectMetadataList", "yaml"));
  const binary = await get(path, beta("PartialObjectMetadataList", "vnd.kubernetes.protobuf"));
  const followed = await follow(cluster.api.server, `GET ${path}?watch=true`, { headers: { accept: beta("Table") } });

  const version = "meta.k8s.io/v1beta1";
  assert.deepEqual([asTable.json.kind, asTable.json.apiVersion], ["Table", version]);
  assert.deepEqual({ ...row(asTable)?.object }, one.json);
  assert.deepEqual([one.json.kind, one.json.apiVersion], ["PartialObjectMetadata", version]);
  assert.deepEqual([many.json.apiVersion, many.items], [version, [one.json]]);
  assert.equal(Buffer.from(yaml.bytes).toString().split(`apiVersion: ${version}`).length, 3);
  assert.equal(decodeEnvelope(binary.bytes).apiVersion, version);
  assert.match(Buffer.from(followed.bytes).toString(), /"kind":"Table","apiVersion":"meta.k8s.io\/v1beta1"/);
  followed.stop();
});

test("items of a list have no kind and apiVersion, in JSON and in YAML", async () => {
  const { items } = await get(path, "application/json");
  const yaml = Buffer.from((await get(path, "application/yaml")).bytes).toString();
  const one = await get(`${path}/a`, "application/json");

  const { kind, apiVersion, ...rest } = one.json;
  assert.deepEqual([kind, apiVersion, items], ["ConfigMap", "v1", [rest]]);
  assert.doesNotMatch(yaml, /kind: ConfigMap$/m);
});

test("an error is sent in the client's format, or as JSON if none is supported", async () => {
  const yaml = await get(`${path}/none`, "application/yaml");
  const binary = await get(`${path}/none`, "application/vnd.kubernetes.protobuf");
  const none = await get(`${path}/none`, "text/html");

  assert.match(Buffer.from(yaml.bytes).toString(), /reason: NotFound/);
  assert.equal(decodeEnvelope(binary.bytes).kind, "Status");
  assert.deepEqual([none.status, none.json.reason], [406, "NotAcceptable"]);
});

test("a watch in protobuf has frames of events with enveloped objects", async () => {
  const query = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
  for (const [accept, kind] of [
    ["application/vnd.kubernetes.protobuf", "ConfigMap"],
    [partial("PartialObjectMetadata", "vnd.kubernetes.protobuf"), "PartialObjectMetadata"],
  ] as const) {
    const followed = await follow(cluster.api.server, `GET ${path}?${query}`, { headers: { accept } });

    assert.equal(followed.contentType, "application/vnd.kubernetes.protobuf;stream=watch");
    const text = Buffer.from(followed.bytes).toString("latin1");
    assert.equal(text.split(kind).length - 1, 2, "the object and the bookmark are of this kind");
    followed.stop();
  }
});

test("every response has an audit id", async () => {
  const well = await get(path, "application/json");
  const ill = await get(`${path}/none`, "application/json");

  assert.match(well.headers["audit-id"] ?? "", /^[0-9a-f]{32}$/);
  assert.notEqual(ill.headers["audit-id"], well.headers["audit-id"]);
});

test("one user's long YAML does not delay that of others", async () => {
  const metadata = { namespace: "default", name: "long" };
  await cluster.client.create(ConfigMap, { metadata, data: { key: "a line\n".repeat(50_000) } });
  const groups = ["system:masters", "system:authenticated"];
  const read = (name: string): Promise<Said> =>
    ask(cluster.api.server, `GET ${path}/long`, { headers: { accept: "application/yaml" }, user: { name, groups } });

  const greedy = Array.from({ length: 40 }, () => read("greedy"));
  const other = await read("other");

  const statuses = new Set((await Promise.all(greedy)).map(({ status }) => status));
  assert.equal(other.status, 200);
  assert.deepEqual([...statuses].toSorted(), [200, 429]);
});

test("a long list is complete and in order, in every format that is made in slices", async () => {
  const names = Array.from({ length: 600 }, (_, n) => `item-${String(n).padStart(4, "0")}`);
  await cluster.client.create(Namespace, { metadata: { name: "long" } });
  for (const name of names) await cluster.client.create(ConfigMap, { metadata: { namespace: "long", name } });
  const url = "/api/v1/namespaces/long/configmaps";
  const list = "PartialObjectMetadataList";

  const rows = (await get(url, table)).json.rows as unknown as readonly { cells: unknown[] }[];
  const items = (await get(url, partial(list))).json.items as unknown as readonly { metadata: { name: string } }[];
  const messages = await Promise.all(
    ["application/vnd.kubernetes.protobuf", partial(list, "vnd.kubernetes.protobuf")].map((accept) => get(url, accept)),
  );

  assert.deepEqual(
    rows.map(({ cells }) => cells[0]),
    names,
  );
  assert.deepEqual(
    items.map(({ metadata }) => metadata.name),
    names,
  );
  for (const { bytes } of messages) {
    const text = Buffer.from(decodeEnvelope(bytes).raw).toString("latin1");
    assert.deepEqual([...new Set(text.match(/item-\d{4}/g))], names);
  }
});
