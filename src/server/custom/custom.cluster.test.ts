import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ask, type Said } from "#testing/peers/ask.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const crates = "/apis/example.com/v1/namespaces/default/crates";

const schema = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      required: ["size"],
      properties: {
        size: { type: "integer", minimum: 1 },
        color: { type: "string", default: "red", enum: ["red", "blue"] },
        tags: { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "set" },
      },
    },
    status: { type: "object", properties: { filled: { type: "integer" } } },
  },
};
const version = (name: string, more: object = {}) => ({
  name,
  served: true,
  storage: true,
  schema: { openAPIV3Schema: schema },
  subresources: { status: {} },
  additionalPrinterColumns: [{ name: "Size", type: "integer", jsonPath: ".spec.size" }],
  ...more,
});
const definition = (plural: string, kind: string, versions: readonly object[] = [version("v1")]) => ({
  metadata: { name: `${plural}.example.com` },
  spec: { group: "example.com", scope: "Namespaced", names: { plural, kind, shortNames: [`${plural[0]}x`] }, versions },
});

let cluster: TestCluster;
before(async () => {
  cluster = await startCluster();
  await define(definition("crates", "Crate"));
});
after(() => cluster[Symbol.asyncDispose]());

const send = (line: string, body?: object, type = "application/json"): Promise<Said> =>
  ask(cluster.api.server, line, { ...(body ? { body } : {}), headers: { "content-type": type } });

async function define(body: object): Promise<Said> {
  const said = await send(`POST ${definitions}`, body);
  assert.equal(said.status, 201, String(said.json.message));
  const { name } = (body as { metadata: { name: string } }).metadata;
  await cluster.until(async () =>
    JSON.stringify((await send(`GET ${definitions}/${name}`)).json).includes("InitialNames"),
  );
  return said;
}
const crate = (name: string, spec: object = { size: 1 }) => ({ metadata: { name }, spec });

test("a custom resource is created, read, listed and deleted like any other", async () => {
  const created = await send(`POST ${crates}`, crate("a"));
  const read = await send(`GET ${crates}/a`);
  const listed = await send(`GET ${crates}`);
  const deleted = await send(`DELETE ${crates}/a`);
  const gone = await send(`GET ${crates}/a`);

  assert.equal(created.status, 201, String(created.json.message));
  assert.deepEqual(read.json.spec, { size: 1, color: "red" });
  assert.equal(read.json.kind, "Crate");
  assert.equal(read.json.metadata?.generation, 1);
  assert.equal(listed.json.kind, "CrateList");
  assert.deepEqual([deleted.status, gone.status], [200, 404]);
});

test("what is wrong with a custom resource is reported in upstream's words", async () => {
  const said = await send(`POST ${crates}`, crate("wrong", { size: "big", color: "green", tags: ["a", "a"] }));

  assert.equal(said.status, 422);
  assert.equal(
    said.json.message,
    'Crate.example.com "wrong" is invalid: [spec.size: Invalid value: "string": spec.size in body must be of type integer: "string", spec.color: Unsupported value: "green": supported values: "red", "blue", spec.tags[1]: Duplicate value: "a"]',
  );
});

test("unknown fields are dropped, warned of, or refused", async () => {
  const body = crate("unknown", { size: 1, weight: 2 });

  const warned = await send(`POST ${crates}?dryRun=All`, body);
  const refused = await send(`POST ${crates}?fieldValidation=Strict`, body);

  assert.deepEqual(warned.json.spec, { size: 1, color: "red" });
  assert.deepEqual(warned.warnings, ['299 - "unknown field \\"spec.weight\\""']);
  assert.equal(refused.status, 400);
  assert.match(String(refused.json.message), /strict decoding error: unknown field "spec.weight"/);
});

test("the status of a custom resource is changed at /status and nowhere else", async () => {
  await send(`POST ${crates}`, { ...crate("s"), status: { filled: 1 } });
  const merge = "application/merge-patch+json";

  const patched = await send(`PATCH ${crates}/s/status`, { spec: { size: 9 }, status: { filled: 2 } }, merge);
  const changed = await send(`PATCH ${crates}/s`, { spec: { size: 3 }, status: { filled: 5 } }, merge);

  assert.deepEqual([patched.json.spec, patched.json.status], [{ size: 1, color: "red" }, { filled: 2 }]);
  assert.deepEqual([changed.json.spec, changed.json.status], [{ size: 3, color: "red" }, { filled: 2 }]);
  assert.equal(changed.json.metadata?.generation, 2);
});

test("apply tracks the owners of the fields of a custom resource", async () => {
  const apply = (manager: string, spec: object) =>
    send(
      `PATCH ${crates}/applied?fieldManager=${manager}`,
      { apiVersion: "example.com/v1", kind: "Crate", metadata: { name: "applied" }, spec },
      "application/apply-patch+yaml",
    );

  const first = await apply("one", { size: 1, tags: ["a"] });
  const second = await apply("two", { tags: ["b"] });
  const conflict = await apply("two", { size: 2 });

  assert.equal(first.status, 201, String(first.json.message));
  assert.deepEqual(second.json.spec, { size: 1, color: "red", tags: ["a", "b"] });
  assert.equal(conflict.status, 409);
  assert.match(String(conflict.json.message), /conflict with "one": .spec.size/);
});

test("discovery and OpenAPI describe a custom resource at once", async () => {
  const list = await send("GET /apis/example.com/v1");
  const v3 = await send("GET /openapi/v3/apis/example.com/v1");
  const table = await ask(cluster.api.server, `GET ${crates}`, {
    headers: { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" },
  });

  const names = (list.json.resources as unknown as { name: string }[]).map(({ name }) => name);
  assert.deepEqual(names, ["crates", "crates/status"]);
  assert.match(JSON.stringify(v3.json), /com.example.v1.Crate/);
  const columns = table.json.columnDefinitions as unknown as { name: string }[];
  assert.deepEqual(
    columns.map(({ name }) => name),
    ["Name", "Size"],
  );
});

test("a deleted definition takes its objects with it, and then its kind is not served", async () => {
  await define(definition("boxes", "Box"));
  const boxes = "/apis/example.com/v1/namespaces/default/boxes";
  await send(`POST ${boxes}`, crate("b"));

  const deleted = await send(`DELETE ${definitions}/boxes.example.com`);
  await cluster.until(async () => (await send(`GET ${definitions}/boxes.example.com`)).status === 404);

  assert.match(JSON.stringify(deleted.json), /InstanceDeletionPending/);
  assert.equal((await send(`GET ${boxes}`)).status, 404);
  assert.equal(cluster.store.revision > 0, true);
  await define(definition("boxes", "Box"));
  assert.deepEqual((await send(`GET ${boxes}`)).items, []);
});

test("a second definition does not get names that are in use", async () => {
  const other = definition("barrels", "Crate");
  await send(`POST ${definitions}`, other);

  await cluster.until(async () =>
    JSON.stringify((await send(`GET ${definitions}/barrels.example.com`)).json).includes("KindConflict"),
  );

  assert.equal((await send("GET /apis/example.com/v1/namespaces/default/barrels")).status, 404);
});

test("custom objects hold up the deletion of their owner and of their namespace", async () => {
  await send("POST /api/v1/namespaces", { metadata: { name: "held" } });
  const inside = crates.replace("default", "held");
  const finalizers = ["example.com/held"];
  const { metadata } = (await send(`POST ${inside}`, crate("owner"))).json;
  const { uid } = metadata as unknown as { uid: string };
  const owner = { apiVersion: "example.com/v1", kind: "Crate", name: "owner", uid, blockOwnerDeletion: true };
  const part = crate("part");
  await send(`POST ${inside}`, { ...part, metadata: { ...part.metadata, finalizers, ownerReferences: [owner] } });
  const statusOf = async (path: string): Promise<number> => (await send(`GET ${path}`)).status;
  const remainsOf = async () => JSON.stringify((await send("GET /api/v1/namespaces/held")).json.status ?? {});

  await send(`DELETE ${inside}/owner?propagationPolicy=Foreground`);
  await cluster.settle();
  const during = [await statusOf(`${inside}/owner`), await statusOf(`${inside}/part`)];
  await send("DELETE /api/v1/namespaces/held");
  await cluster.until(async () => (await remainsOf()).includes("example.com/held in 1 resource instances"));
  await send(`PATCH ${inside}/part`, { metadata: { finalizers: null } }, "application/merge-patch+json");

  await cluster.until(async () => (await statusOf("/api/v1/namespaces/held")) === 404);
  assert.deepEqual(during, [200, 200]);
});

test("objects of a custom kind go with their namespace and with their owner", async () => {
  await send("POST /api/v1/namespaces", { metadata: { name: "n" } });
  const inside = crates.replace("default", "n");
  const owner = await send(`POST ${inside}`, crate("owner"));
  const { uid } = owner.json.metadata as unknown as { uid: string };
  const ownerReferences = [{ apiVersion: "example.com/v1", kind: "Crate", name: "owner", uid }];
  await send(`POST /api/v1/namespaces/n/configmaps`, { metadata: { name: "owned", ownerReferences } });

  await send(`DELETE ${inside}/owner`);
  await cluster.until(async () => (await send("GET /api/v1/namespaces/n/configmaps/owned")).status === 404);
  await send(`POST ${inside}`, crate("last"));
  await send("DELETE /api/v1/namespaces/n");

  await cluster.until(async () => (await send("GET /api/v1/namespaces/n")).status === 404);
});
