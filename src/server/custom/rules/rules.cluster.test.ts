import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ask, type Said } from "#testing/peers/ask.ts";
import { startCluster, type TestCluster } from "#testing/start-cluster.ts";

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const crates = "/apis/example.com/v1/namespaces/default/crates";
const merge = "application/merge-patch+json";

let cluster: TestCluster;
before(async () => {
  cluster = await startCluster({ controllers: false });
  await define(spec);
});
after(() => cluster[Symbol.asyncDispose]());

const send = (line: string, body?: object, type = "application/json"): Promise<Said> =>
  ask(cluster.api.server, line, { ...(body ? { body } : {}), headers: { "content-type": type } });

const spec = {
  type: "object",
  properties: {
    min: { type: "integer" },
    max: { type: "integer" },
    name: {
      type: "string",
      maxLength: 50,
      "x-kubernetes-validations": [{ rule: "self == oldSelf", message: "fixed" }],
    },
    tag: {
      type: "string",
      maxLength: 20,
      "x-kubernetes-validations": [{ rule: "self.startsWith('t')", messageExpression: "'not a tag: ' + self" }],
    },
    parts: {
      type: "array",
      maxItems: 10,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["id"],
      items: {
        type: "object",
        required: ["id"],
        properties: { id: { type: "string", maxLength: 10 }, size: { type: "integer" } },
        "x-kubernetes-validations": [{ rule: "self.size >= oldSelf.size", reason: "FieldValueForbidden" }],
      },
    },
  },
  "x-kubernetes-validations": [
    { rule: "!has(self.min) || !has(self.max) || self.min <= self.max", message: "min above max", fieldPath: ".min" },
  ],
};

const definition = (schema: object, plural = "crates", kind = "Crate") => ({
  metadata: { name: `${plural}.example.com` },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural, kind },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object", properties: { spec: schema } } },
      },
    ],
  },
});

async function define(schema: object): Promise<void> {
  const said = await send(`POST ${definitions}`, definition(schema));
  assert.equal(said.status, 201, String(said.json.message));
  await cluster.until(async () => (await send(`GET ${crates}`)).status === 200);
}
const create = (name: string, value: object) => send(`POST ${crates}`, { metadata: { name }, spec: value });
const patch = (name: string, value: object) => send(`PATCH ${crates}/${name}`, { spec: value }, merge);

test("a rule refuses a value with its message, its path and its reason", async () => {
  const crossed = await create("a", { min: 2, max: 1 });
  const tagged = await create("a", { tag: "x" });

  assert.equal(crossed.json.message, 'Crate.example.com "a" is invalid: spec.min: Invalid value: min above max');
  assert.equal(tagged.json.message, 'Crate.example.com "a" is invalid: spec.tag: Invalid value: "x": not a tag: x');
});

test("a rule about the previous value is checked on updates alone", async () => {
  const created = await create("moves", { name: "one", parts: [{ id: "a", size: 2 }] });
  const renamed = await patch("moves", { name: "two" });
  const shrunk = await patch("moves", { parts: [{ id: "a", size: 1 }] });
  const added = await patch("moves", {
    parts: [
      { id: "b", size: 0 },
      { id: "a", size: 3 },
    ],
  });

  assert.equal(created.status, 201, String(created.json.message));
  assert.match(String(renamed.json.message), /spec.name: Invalid value: "two": fixed/);
  assert.match(String(shrunk.json.message), /spec.parts\[0\]: Forbidden: failed rule: self.size >= oldSelf.size/);
  assert.equal(added.status, 200, String(added.json.message));
});

test("what broke a rule before may stay as it is", async () => {
  const loose = { type: "object", properties: { tag: { type: "string", maxLength: 9 }, size: { type: "integer" } } };
  const boxes = "/apis/example.com/v1/namespaces/default/boxes";
  await send(`POST ${definitions}`, definition(loose, "boxes", "Box"));
  await cluster.until(async () => (await send(`GET ${boxes}`)).status === 200);
  await send(`POST ${boxes}`, { metadata: { name: "a" }, spec: { tag: "x", size: 1 } });
  const strict = { ...loose.properties.tag, "x-kubernetes-validations": [{ rule: "self == 'y'" }] };
  const versions = definition({ ...loose, properties: { ...loose.properties, tag: strict } }).spec.versions;
  await send(`PATCH ${definitions}/boxes.example.com`, { spec: { versions } }, merge);

  const other = await send(`PATCH ${boxes}/a`, { spec: { size: 2 } }, merge);
  const same = await send(`PATCH ${boxes}/a`, { spec: { tag: "z" } }, merge);

  assert.equal(other.status, 200, String(other.json.message));
  assert.equal(same.status, 422);
});

test("rules are not checked for values of the wrong type", async () => {
  const said = await create("wrong", { min: "x", max: 1 });

  assert.match(String(said.json.message), /<nil>: Invalid value: null: some validation rules were not checked/);
});

const refused: readonly { claim: string; schema: object; message: RegExp }[] = [
  {
    claim: "that does not compile",
    schema: { type: "object", properties: {}, "x-kubernetes-validations": [{ rule: "self.nothing <= 1" }] },
    message:
      /x-kubernetes-validations\[0\].rule: Invalid value: \{"Rule":"self.nothing \\u003c= 1","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null\}: compilation failed: .*undefined field 'nothing'/,
  },
  {
    claim: "that is no condition",
    schema: { type: "string", "x-kubernetes-validations": [{ rule: "self + 'x'" }] },
    message: /cel expression must evaluate to a bool/,
  },
  {
    claim: "that may cost too much",
    schema: {
      type: "array",
      items: { type: "string" },
      "x-kubernetes-validations": [{ rule: "self.all(a, self.all(b, a == b || a.contains(b)))" }],
    },
    message: /estimated rule cost exceeds budget by factor of more than 100x/,
  },
  {
    claim: "about previous items that cannot be told apart",
    schema: {
      type: "array",
      maxItems: 3,
      items: { type: "string", maxLength: 3, "x-kubernetes-validations": [{ rule: "self == oldSelf" }] },
    },
    message:
      /oldSelf cannot be used on the uncorrelatable portion of the schema within spec.validation.openAPIV3Schema.properties\[spec\]/,
  },
  {
    claim: "with a pattern that is none",
    schema: { type: "string", pattern: "a(" },
    message:
      /properties\[spec\].pattern: Invalid value: "a\(": must be a valid regular expression, but isn't: error parsing regexp/,
  },
];
for (const { claim, schema, message } of refused) {
  test(`a definition with a rule ${claim} is refused`, async () => {
    const said = await send(`POST ${definitions}?dryRun=All`, definition(schema, "jars", "Jar"));

    assert.equal(said.status, 422);
    assert.match(String(said.json.message), message);
  });
}
