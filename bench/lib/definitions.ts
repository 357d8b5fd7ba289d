/** Definitions of usual and of large size, as operators bring them. */

const text = {
  type: "string",
  description: "A value, with a sentence that says what it is for and what its default is.",
};
const fieldsOf = (count: number, make: (index: number) => object): Record<string, object> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`field${index}`, make(index)]));

function specOf(plural: string, schema: object) {
  const kind = `${plural[0]?.toUpperCase()}${plural.slice(1)}`;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.bench.example.com` },
    spec: {
      group: "bench.example.com",
      scope: "Namespaced",
      names: { plural, kind },
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } }],
    },
  };
}

/** About 10 KiB: two levels of fields and a few rules. */
export function definition(n: number) {
  const group = (index: number) => ({
    type: "object",
    properties: fieldsOf(8, () => ({ ...text, maxLength: 100 })),
    "x-kubernetes-validations":
      index === 0 ? [{ rule: "!has(self.field0) || self.field0 != 'none'", message: "must not be none" }] : [],
  });
  const spec = { type: "object", properties: fieldsOf(8, group) };
  const status = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  return specOf(`things${n}`, { type: "object", properties: { spec, status } });
}

/** One whose objects look like ConfigMaps. */
export const mapDefinition = specOf("maps", {
  type: "object",
  properties: { data: { type: "object", additionalProperties: { type: "string" } } },
});

/** About 700 KiB: as large as the largest that are published. */
export function hugeDefinition(n: number) {
  const leaf = () => ({ type: "object", properties: fieldsOf(20, () => text) });
  const group = () => ({ type: "object", properties: fieldsOf(15, leaf) });
  return specOf(`huge${n}`, {
    type: "object",
    properties: { spec: { type: "object", properties: fieldsOf(15, group) } },
  });
}

/** As many rules as a large operator has. */
export function ruledDefinition(rules: number) {
  const field = (index: number) => ({
    type: "object",
    properties: { a: { ...text, maxLength: 20 }, b: { type: "array", maxItems: 10, items: { type: "integer" } } },
    "x-kubernetes-validations": [
      { rule: `!has(self.a) || self.a.matches('^[a-z]{1,${index + 1}}$')`, message: "must match" },
      { rule: `!has(self.b) || self.b.all(x, x > ${index}) || size(self.b) < 3` },
    ],
  });
  const spec = { type: "object", properties: fieldsOf(rules / 2, field) };
  return specOf("ruled", { type: "object", properties: { spec } });
}
