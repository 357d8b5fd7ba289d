import assert from "node:assert/strict";
import { test } from "node:test";
import { compile, type Outcome } from "#cel/compile.ts";
import { valueFor } from "#cel/values/data.ts";
import { kubernetesEnvironment, perCallLimit } from "./environment.ts";
import { escapeName } from "./escape.ts";
import { declareSchema, type Schema, sizeHints } from "./schema-type.ts";

const schema: Schema = {
  type: "object",
  required: ["replicas"],
  properties: {
    replicas: { type: "integer" },
    ratio: { type: "number" },
    name: { type: "string", maxLength: 10 },
    "dashed-name": { type: "string" },
    namespace: { type: "string" },
    port: { "x-kubernetes-int-or-string": true },
    until: { type: "string", format: "date-time" },
    day: { type: "string", format: "date" },
    timeout: { type: "string", format: "duration" },
    data: { type: "string", format: "byte" },
    labels: { type: "object", additionalProperties: { type: "string", maxLength: 5 }, maxProperties: 3 },
    tags: { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "set" },
    rules: {
      type: "array",
      maxItems: 4,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["id"],
      items: { type: "object", properties: { id: { type: "string" }, size: { type: "integer" } } },
    },
    anything: { type: "object", "x-kubernetes-preserve-unknown-fields": true } as Schema,
    inner: { type: "object", "x-kubernetes-embedded-resource": true },
  },
};
const declared = declareSchema(schema, "selfType", true);
assert(declared);
const { type } = declared;
const hints = sizeHints(declared);
const environment = kubernetesEnvironment().extend({ variables: { self: type, oldSelf: type } });
const self = {
  kind: "Thing",
  metadata: { name: "x" },
  replicas: 3,
  ratio: 2,
  name: "abc",
  "dashed-name": "d",
  namespace: "ns",
  port: 80,
  until: "2024-01-02T03:04:05Z",
  day: "2024-01-02",
  timeout: "90s",
  data: "aGk=",
  labels: { a: "b" },
  tags: ["a", "b"],
  rules: [
    { id: "one", size: 1 },
    { id: "two", size: 2 },
  ],
  inner: { kind: "Pod", metadata: { name: "p" } },
};
const oldSelf = { ...self, tags: ["b", "a"], rules: [...self.rules].reverse() };

function run(source: string): Outcome {
  const compiled = compile(environment, source);
  if (!compiled.program) return { error: compiled.message, cost: 0, work: 0 };
  const values = new Map([
    ["self", valueFor(type, self)],
    ["oldSelf", valueFor(type, oldSelf)],
  ]);
  return compiled.program.evaluate(values, perCallLimit);
}

const holds = [
  "self.replicas == 3 && self.ratio == 2.0 && type(self.ratio) == double",
  "self.dashed__dash__name == 'd' && self.__namespace__ == 'ns'",
  "self.namespace == 'ns' && has(self.namespace)",
  "type(self.port) == int ? self.port == 80 : self.port == 'http'",
  "self.until.getFullYear() == 2024 && self.until > self.day && self.timeout == duration('1m30s')",
  "self.data == b'hi' && size(self.labels) == 1 && self.labels.all(k, self.labels[k] == 'b')",
  "self.kind == 'Thing' && self.metadata.name == 'x' && self.inner.metadata.name == 'p'",
  "self.tags == oldSelf.tags && self.rules == oldSelf.rules && self == self",
  "(self.tags + ['c', 'a']).size() == 3 && self.rules.exists(r, r.id == 'two' && r.size == 2)",
  "!has(self.anything) && has(self.name) && self.?name.orValue('') == 'abc'",
];

for (const source of holds) {
  test(`${source} is true`, () => assert.deepEqual(run(source).error ?? run(source).value, true));
}

test("a field that the schema does not have is refused", () => {
  assert.match(run("self.missing").error ?? "", /1:5: undefined field 'missing'/);
  assert.match(run("self.rules[0].missing").error ?? "", /undefined field 'missing'/);
});

/** As the API server counts them. `replicas` has size zero, so comparing it for equality costs nothing. */
const estimates: readonly (readonly [string, number])[] = [
  ["self.replicas > 1", 3],
  ["self.name == 'abc'", 2 + 1],
  ["self.name.startsWith('abc')", 2 + 1],
  ["self.rules.all(r, r.size > 1)", 2 + 4 * (2 + 1 + 3) + 1],
  ["self.labels.all(k, self.labels[k] == 'abcde')", 2 + 3 * (2 + 1 + 2 + 1 + 1 + 1) + 1],
  ["self.tags.all(t, t.matches('^a'))", 2 + 1_048_575 * (2 + 1 + 1 + 314_573) + 1],
];

for (const [source, cost] of estimates) {
  test(`${source} may cost ${cost}`, () => {
    const compiled = compile(environment, source);
    assert(compiled.program);
    assert.equal(compiled.program.estimateCost(hints).max, cost);
  });
}

test("escapeName() spells every name that can be spelled", () => {
  for (const [name, escaped] of [
    ["a", "a"],
    ["a-b", "a__dash__b"],
    ["a.b/c", "a__dot__b__slash__c"],
    ["a__b", "a__underscores__b"],
    ["namespace", "__namespace__"],
    ["1a", undefined],
    ["a b", undefined],
    ["", undefined],
  ] as const) {
    assert.equal(escapeName(name), escaped);
  }
});
