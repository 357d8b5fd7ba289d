import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { assembleApiServer } from "#cluster/api-server.ts";
import { signingKey } from "#lib/crypto/jwt.ts";
import { createKey, keyToPem } from "#lib/crypto/x509.ts";
import { seededRandom } from "#lib/data/random.ts";
import { silentLog } from "#lib/process/log.ts";
import { ask, follow, type Loose, type Said } from "#testing/peers/ask.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const merge = "application/merge-patch+json";

const schemaOf = (properties: object) => ({
  openAPIV3Schema: { type: "object", properties: { spec: { type: "object", properties } } },
});
const version = (name: string, properties: object, more: object = {}) => ({
  name,
  served: true,
  storage: false,
  schema: schemaOf(properties),
  ...more,
});
const size = { type: "integer" };

let cluster: TestCluster;
before(async () => {
  cluster = await startCluster({ controllers: false });
});
after(() => cluster[Symbol.asyncDispose]());

const send = (line: string, body?: object, type = "application/json"): Promise<Said> =>
  ask(cluster.api.server, line, { ...(body ? { body } : {}), headers: { "content-type": type } });
const path = (plural: string, name: string) => `/apis/example.com/${name}/namespaces/default/${plural}`;

/** Defines a kind with these versions and waits until it is served. */
async function define(plural: string, versions: readonly object[]): Promise<void> {
  const names = { plural, kind: `${plural[0]?.toUpperCase()}${plural.slice(1, -1)}` };
  const spec = { group: "example.com", scope: "Namespaced", names, versions };
  const said = await send(`POST ${definitions}`, { metadata: { name: `${plural}.example.com` }, spec });
  assert.equal(said.status, 201, String(said.json.message));
  await cluster.until(async () => (await send(`GET ${path(plural, "v1")}`)).status === 200);
}
const change = (plural: string, versions: readonly object[]): Promise<Said> =>
  send(`PATCH ${definitions}/${plural}.example.com`, { spec: { versions } }, merge);

test("an object exists in all versions, with the fields that the stored version knows", async () => {
  const v1 = version("v1", { size }, { storage: true });
  const v2 = version("v2", { size, color: { type: "string", default: "red" } });
  await define("crates", [v1, v2]);
  await send(`POST ${path("crates", "v2")}`, { metadata: { name: "a" }, spec: { size: 1, color: "blue" } });

  const older = await send(`GET ${path("crates", "v1")}/a`);
  const newer = await send(`GET ${path("crates", "v2")}/a`);
  const listed = await send(`GET ${path("crates", "v2")}`);

  assert.deepEqual([older.json.apiVersion, older.json.spec], ["example.com/v1", { size: 1 }]);
  assert.deepEqual([newer.json.apiVersion, newer.json.spec], ["example.com/v2", { size: 1, color: "red" }]);
  assert.deepEqual(
    listed.items.map(({ apiVersion }) => String(apiVersion)),
    ["example.com/v2"],
  );
});

test("another storage version is noted, and everything stored before stays readable", async () => {
  const v1 = version("v1", { size });
  const v2 = version("v2", { size });
  await define("boxes", [{ ...v1, storage: true }, v2]);
  await send(`POST ${path("boxes", "v1")}`, { metadata: { name: "old" }, spec: { size: 1 } });

  const changed = await change("boxes", [v1, { ...v2, storage: true }]);
  await send(`POST ${path("boxes", "v1")}`, { metadata: { name: "young" }, spec: { size: 2 } });
  const early = await change("boxes", [{ ...v2, storage: true }]);

  assert.deepEqual((changed.json.status as Loose | undefined)?.storedVersions, ["v1", "v2"]);
  for (const name of ["v1", "v2"]) {
    const { items } = await send(`GET ${path("boxes", name)}`);
    const seen = items.map((item) => [item.apiVersion, (item.spec as Loose | undefined)?.size]);
    assert.deepEqual(seen, [
      [`example.com/${name}`, 1],
      [`example.com/${name}`, 2],
    ]);
  }
  assert.match(
    String(early.json.message),
    /status.storedVersions\[0\]: Invalid value: "v1": missing from spec.versions/,
  );
});

test("stored objects get the defaults of a later schema, and lose what it does not know", async () => {
  await define("jars", [version("v1", { size, lid: size }, { storage: true })]);
  await send(`POST ${path("jars", "v1")}`, { metadata: { name: "a" }, spec: { size: 1, lid: 2 } });

  await change("jars", [version("v1", { size, color: { type: "string", default: "red" } }, { storage: true })]);

  const said = await send(`GET ${path("jars", "v1")}/a`);
  assert.deepEqual(said.json.spec, { size: 1, color: "red" });
});

test("a change ends the watches of the versions that it concerns, and of no others", async () => {
  const v1 = version("v1", { size }, { storage: true });
  const v2 = version("v2", { size });
  await define("cans", [v1, v2]);
  const first = await follow(cluster.api.server, `GET ${path("cans", "v1")}?watch=1`);
  const second = await follow(cluster.api.server, `GET ${path("cans", "v2")}?watch=1`);

  await change("cans", [v1, version("v2", { size, color: { type: "string" } })]);
  await send(`POST ${path("cans", "v1")}`, { metadata: { name: "a" }, spec: { size: 1 } });

  assert.deepEqual([first.isOver, second.isOver], [false, true]);
  assert.deepEqual(
    first.events.map(({ type }) => String(type)),
    ["ADDED"],
  );
});

test("a version that is no longer served is not found, and neither are its documents", async () => {
  const v1 = version("v1", { size }, { storage: true });
  await define("tubs", [v1, version("v2", { size })]);

  await change("tubs", [v1, { ...version("v2", { size }), served: false }]);

  assert.equal((await send(`GET ${path("tubs", "v2")}`)).status, 404);
  assert.equal((await send(`GET ${path("tubs", "v1")}`)).status, 200);
  assert.doesNotMatch(JSON.stringify((await send("GET /openapi/v2")).json), /example.v2.Tub"/);
});

test("requests for a deprecated version are answered with a warning", async () => {
  const v1 = version("v1", { size }, { storage: true });
  await define("pots", [version("v1beta1", { size }, { deprecated: true }), v1]);

  const said = await send(`GET ${path("pots", "v1beta1")}`);

  assert.deepEqual(said.warnings, ['299 - "example.com/v1beta1 Pot is deprecated; use example.com/v1 Pot"']);
});

test("selectable fields select, and other fields do not", async () => {
  const selectableFields = [{ jsonPath: ".spec.color" }];
  await define("cups", [version("v1", { color: { type: "string" } }, { storage: true, selectableFields })]);
  for (const color of ["red", "blue"]) {
    await send(`POST ${path("cups", "v1")}`, { metadata: { name: color }, spec: { color } });
  }

  const found = await send(`GET ${path("cups", "v1")}?fieldSelector=spec.color%3Dred`);
  const refused = await send(`GET ${path("cups", "v1")}?fieldSelector=spec.size%3D1`);

  assert.deepEqual(
    found.items.map(({ metadata }) => String((metadata as Loose).name)),
    ["red"],
  );
  assert.equal(refused.status, 400);
});

test("a custom resource has no protobuf and no strategic merge", async () => {
  await define("bins", [version("v1", { size }, { storage: true })]);
  await send(`POST ${path("bins", "v1")}`, { metadata: { name: "a" }, spec: { size: 1 } });
  const accept = (types: string) =>
    ask(cluster.api.server, `GET ${path("bins", "v1")}/a`, { headers: { accept: types } });

  const either = await accept("application/vnd.kubernetes.protobuf,application/json");
  const only = await accept("application/vnd.kubernetes.protobuf");
  const patched = await send(`PATCH ${path("bins", "v1")}/a`, {}, "application/strategic-merge-patch+json");

  assert.deepEqual([either.status, either.json.kind, only.status, patched.status], [200, "Bin", 406, 415]);
});

test("a server that starts later serves the kinds and objects that are stored", async () => {
  await define("vats", [version("v1", { size, color: { type: "string", default: "red" } }, { storage: true })]);
  await send(`POST ${path("vats", "v1")}`, { metadata: { name: "a" }, spec: { size: 1 } });
  const { store, clock } = cluster;
  const key = signingKey(keyToPem(createKey()));
  const rest = { log: silentLog, random: seededRandom(2), signingKey: key, serverAddress: "127.0.0.1:6443" };

  await using later = await assembleApiServer({ store, clock, ...rest });

  const listed = await ask(later.server, `GET ${path("vats", "v1")}`);
  assert.deepEqual(
    listed.items.map(({ spec }) => spec),
    [{ size: 1, color: "red" }],
  );
});

test("fields that were applied in one version keep their owner when another version is applied", async () => {
  await define("kegs", [version("v1", { size, lid: size }, { storage: true }), version("v2", { size, lid: size })]);
  const apply = (name: string, manager: string, spec: object) =>
    send(
      `PATCH ${path("kegs", name)}/a?fieldManager=${manager}`,
      { apiVersion: `example.com/${name}`, kind: "Keg", metadata: { name: "a" }, spec },
      "application/apply-patch+yaml",
    );
  await apply("v1", "one", { size: 1 });

  const second = await apply("v2", "two", { lid: 2 });
  const conflict = await apply("v2", "two", { size: 3, lid: 2 });

  const entries = (second.json.metadata?.managedFields ?? []) as unknown as { manager: string; apiVersion: string }[];
  const managers = entries.map(({ manager, apiVersion }) => `${manager} ${apiVersion}`);
  assert.deepEqual(managers, ["one example.com/v1", "two example.com/v2"]);
  assert.equal(conflict.status, 409);
});
