import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ask, type Loose, type Said } from "#testing/peers/ask.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

let cluster: TestCluster;
before(async () => {
  cluster = await startCluster({ controllers: false });
});
after(() => cluster[Symbol.asyncDispose]());

const send = (line: string, body?: object): Promise<Said> =>
  ask(cluster.api.server, line, { ...(body ? { body } : {}) });

const definition = (
  group: string,
  plural: string,
  kind: string,
  schema: object = { type: "object" },
  more: object = {},
) => ({
  metadata: { name: `${plural}.${group}`, annotations: { "api-approved.kubernetes.io": "unapproved, a test" } },
  spec: {
    group,
    scope: "Namespaced",
    names: { plural, kind },
    versions: [{ name: "v9", served: true, storage: true, schema: { openAPIV3Schema: schema }, ...more }],
  },
});
const inSpec = (spec: object) => ({ type: "object", properties: { spec } });

async function define(body: ReturnType<typeof definition>): Promise<Said> {
  const said = await send(`POST ${definitions}`, body);
  await cluster.settle({ quietMs: 1000 });
  return said;
}
const conditions = async (name: string): Promise<string> =>
  JSON.stringify(((await send(`GET ${definitions}/${name}`)).json.status as Loose | undefined)?.conditions);

test("a definition cannot take the place of a built-in kind, nor of definitions themselves", async () => {
  for (const [group, plural, kind] of [
    ["apiextensions.k8s.io", "customresourcedefinitions", "CustomResourceDefinition"],
    ["networking.k8s.io", "ingresses", "Other"],
    ["networking.k8s.io", "others", "Ingress"],
  ] as const) {
    const said = await define(definition(group, plural, kind));
    assert.equal(said.status, 201, String(said.json.message));
    assert.match(await conditions(`${plural}.${group}`), /"type":"Established","status":"False"/);
    await send(`DELETE ${definitions}/${plural}.${group}`);
  }
  await cluster.settle({ quietMs: 1000 });

  const left = await send(`GET ${definitions}`);
  assert.deepEqual(left.items, []);
  assert.equal((await send("GET /apis/networking.k8s.io/v1/namespaces/default/ingresses")).status, 200);
});

test("defaults that multiply are refused for a new object", async () => {
  const many = Array.from({ length: 1000 }, () => ({}));
  const inner = { type: "object", properties: { b: { type: "array", items: { type: "object" }, default: many } } };
  const list = { type: "array", items: inner, default: many };
  const spec = { type: "object", default: {}, properties: { a: list } };
  await define(definition("example.com", "bombs", "Bomb", inSpec(spec)));

  const said = await send("POST /apis/example.com/v9/namespaces/default/bombs", { metadata: { name: "a" } });

  assert.equal(said.status, 413, String(said.json.message));
});

test("a thousand columns that search the whole object cost little", async () => {
  const column = (at: number) => ({ name: `c${at}`, type: "string", jsonPath: "..a..b[*]..c" });
  const additionalPrinterColumns = Array.from({ length: 1000 }, (_, at) => column(at));
  const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  await define(definition("example.com", "wides", "Wide", inSpec(open), { additionalPrinterColumns }));
  let deep: object = {};
  for (let level = 0; level < 200; level++) deep = { a: deep, b: [1] };
  await send("POST /apis/example.com/v9/namespaces/default/wides", { metadata: { name: "a" }, spec: deep });

  const table = await ask(cluster.api.server, "GET /apis/example.com/v9/namespaces/default/wides", {
    headers: { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" },
  });

  assert.equal((table.json.columnDefinitions as unknown as object[]).length, 101);
});

test("a pattern that is too large, or too many patterns and rules, are refused", async () => {
  const large = definition(
    "example.com",
    "larges",
    "Large",
    inSpec({ type: "string", pattern: "(([a-z]{90}){90}){9}" }),
  );
  const rule = { rule: "self.size() > 1" };
  const rules = Array.from({ length: 1001 }, () => rule);
  const many = definition(
    "example.com",
    "manies",
    "Many",
    inSpec({ type: "string", "x-kubernetes-validations": rules }),
  );

  assert.match(String((await send(`POST ${definitions}`, large)).json.message), /regular expression, but isn't/);
  assert.match(String((await send(`POST ${definitions}`, many)).json.message), /more than 1000 rules/);
});

test("the path of a scale leads to members of the object, never to what all objects inherit", async () => {
  const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  const paths = [".spec.__proto__.polluted", ".spec.constructor.prototype.polluted", ".spec.toString.polluted"];
  for (const [at, specReplicasPath] of paths.entries()) {
    const scale = { specReplicasPath, statusReplicasPath: ".status.toString.length" };
    const body = definition("example.com", `scaled${at}s`, `Scaled${at}`, inSpec(open), { subresources: { scale } });
    assert.equal((await define(body)).status, 201);
    const all = `/apis/example.com/v9/namespaces/default/scaled${at}s`;
    await send(`POST ${all}`, { metadata: { name: "a" }, spec: {} });
    assert.deepEqual((await send(`GET ${all}/a/scale`)).json.status, { replicas: 0 });

    const said = await send(`PUT ${all}/a/scale`, { metadata: { name: "a" }, spec: { replicas: 7 } });

    const inherited = [{}, Object, Object.prototype.toString].map((one) => Reflect.get(one, "polluted"));
    for (const polluted of [Object.prototype, Object.prototype.toString]) Reflect.deleteProperty(polluted, "polluted");
    assert.deepEqual(inherited, [undefined, undefined, undefined]);
    assert.deepEqual([said.status, said.json.spec], [200, { replicas: 7 }]);
  }
});

test("no object is created while its definition goes", async () => {
  await define(definition("example.com", "holds", "Hold"));
  const holds = "/apis/example.com/v9/namespaces/default/holds";
  await send(`POST ${holds}`, { metadata: { name: "held", finalizers: ["example.com/hold"] } });
  await send(`DELETE ${definitions}/holds.example.com`);

  const late = await send(`POST ${holds}`, { metadata: { name: "late" } });

  assert.equal(late.status, 403);
  assert.match(String(late.json.message), /create not allowed while custom resource definition is terminating/);
  assert.equal((await send(`GET ${holds}/held`)).status, 200);
});
