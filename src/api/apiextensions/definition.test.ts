import assert from "node:assert/strict";
import { test } from "node:test";
import { type JsonSchema } from "#schema/json-schema.ts";
import { faultsOf, read, updateFaultsOf, warningsOfNew } from "../faults.suite.ts";
import { CustomResourceDefinition } from "./custom-resource-definition.ts";

const version = (name: string, openAPIV3Schema: JsonSchema = { type: "object" }, more: object = {}) => ({
  name,
  served: true,
  storage: true,
  schema: { openAPIV3Schema },
  ...more,
});
const definition = (spec: object = {}, metadata: object = {}) => ({
  metadata: { name: "crates.example.com", ...metadata },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural: "crates", kind: "Crate" },
    versions: [version("v1")],
    ...spec,
  },
});
const withSchema = (schema: JsonSchema, more: object = {}) => definition({ versions: [version("v1", schema, more)] });
const withField = (field: JsonSchema) => withSchema({ type: "object", properties: { a: field } });
const root = "spec.validation.openAPIV3Schema";
const at = `${root}.properties[a]`;

test("a definition gets its other names and its first stored version", () => {
  const { spec } = read(CustomResourceDefinition, definition());

  assert.deepEqual(spec.names, { plural: "crates", kind: "Crate", singular: "crate", listKind: "CrateList" });
  assert.deepEqual(spec.conversion, { strategy: "None" });
  assert.deepEqual(faultsOf(CustomResourceDefinition, definition()), []);
});

const cases: readonly { claim: string; input: object; faults: readonly string[] }[] = [
  {
    claim: "another name than plural and group",
    input: definition({}, { name: "boxes.example.com" }),
    faults: ['metadata.name: Invalid value: "boxes.example.com": must be spec.names.plural+"."+spec.group'],
  },
  {
    claim: "a group without a dot",
    input: { ...definition({ group: "example" }), metadata: { name: "crates.example" } },
    faults: ['spec.group: Invalid value: "example": should be a domain with at least one dot'],
  },
  {
    claim: "another scope",
    input: definition({ scope: "Galaxy" }),
    faults: ['spec.scope: Unsupported value: "Galaxy": supported values: "Cluster", "Namespaced"'],
  },
  {
    claim: "no version to store",
    input: definition({ versions: [version("v1", { type: "object" }, { storage: false })] }),
    faults: [
      'spec.versions: Invalid value: ["v1"]: must have exactly one version marked as storage version',
      "status.storedVersions: Invalid value: []: must have at least one stored version",
    ],
  },
  {
    claim: "a version without a schema",
    input: definition({ versions: [{ name: "v1", served: true, storage: true }] }),
    faults: ["spec.versions[0].schema.openAPIV3Schema: Required value"],
  },
  {
    claim: "a kind that is its own list",
    input: definition({ names: { plural: "crates", kind: "Crate", listKind: "Crate" } }),
    faults: ['spec.names.listKind: Invalid value: "Crate": kind and listKind may not be the same'],
  },
  {
    claim: "a field without a type",
    input: withField({}),
    faults: [`${at}.type: Required value: must not be empty for specified object fields`],
  },
  {
    claim: "a list without items",
    input: withField({ type: "array" }),
    faults: [`${at}.items: Required value: must be specified`],
  },
  {
    claim: "a type below anyOf",
    input: withField({ type: "string", anyOf: [{ type: "string" }] }),
    faults: [`${at}.anyOf[0].type: Forbidden: must be empty to be structural`],
  },
  {
    claim: "a field that only a nested schema mentions",
    input: withSchema({ type: "object", anyOf: [{ properties: { b: { minLength: 1 } } }] }),
    faults: [`${root}.properties[b]: Required value: because it is defined in ${root}.anyOf[0].properties[b]`],
  },
  {
    claim: "metadata that is described again",
    input: withSchema({ type: "object", properties: { metadata: { type: "object", minProperties: 1 } } }),
    faults: [
      `${root}.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified`,
    ],
  },
  {
    claim: "a default with unknown fields",
    input: withField({ type: "object", properties: {}, default: { b: 1 } }),
    faults: [`${at}.default: Invalid value: {"b":1}: must not have unknown fields`],
  },
  {
    claim: "a default of another type",
    input: withField({ type: "integer", default: "x" }),
    faults: [`${at}.default: Invalid value: "string":  in body must be of type integer: "string"`],
  },
  {
    claim: "parts of JSON schema that are not supported",
    input: withField({ type: "string", $ref: "#/x" }),
    faults: [`${at}.$ref: Forbidden: $ref is not supported`],
  },
  {
    claim: "fields and other members together",
    input: withField({
      type: "object",
      properties: { b: { type: "string" } },
      additionalProperties: { type: "string" },
    }),
    faults: [`${at}.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive`],
  },
  {
    claim: "a list by keys without keys",
    input: withField({
      type: "array",
      items: { type: "object", properties: {} },
      "x-kubernetes-list-type": "map",
    }),
    faults: [`${at}.x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map`],
  },
  {
    claim: "a key of a list that may be absent",
    input: withField({
      type: "array",
      items: { type: "object", properties: { k: { type: "string" } } },
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["k"],
    }),
    faults: [
      `${at}.items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property`,
    ],
  },
  {
    claim: "a scale outside of spec",
    input: withSchema(
      { type: "object" },
      { subresources: { scale: { specReplicasPath: ".x", statusReplicasPath: "" } } },
    ),
    faults: [
      'spec.subresources.scale.specReplicasPath: Invalid value: ".x": should be a json path under .spec',
      "spec.subresources.scale.statusReplicasPath: Required value",
    ],
  },
  {
    claim: "a column of an unknown type",
    input: withSchema({ type: "object" }, { additionalPrinterColumns: [{ name: "A", type: "x", jsonPath: "a" }] }),
    faults: [
      'spec.additionalPrinterColumns[0].type: Invalid value: "x": must be one of boolean,date,integer,number,string',
      'spec.additionalPrinterColumns[0].JSONPath: Invalid value: "a": must be a simple json path starting with .',
    ],
  },
  {
    claim: "a selectable field that is an object",
    input: withSchema(
      { type: "object", properties: { spec: { type: "object", properties: {} } } },
      { selectableFields: [{ jsonPath: ".spec" }, { jsonPath: ".none" }] },
    ),
    faults: [
      'spec.selectableFields[0].jsonPath: Invalid value: ".spec": must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
      'spec.selectableFields[1].jsonPath: Invalid value: ".none": is an invalid path: does not refer to a valid field',
    ],
  },
  {
    claim: "a group of the community without approval",
    input: { ...definition({ group: "x.k8s.io" }), metadata: { name: "crates.x.k8s.io" } },
    faults: [
      'metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval annotation "api-approved.kubernetes.io", see https://github.com/kubernetes/enhancements/pull/1111',
    ],
  },
];
for (const { claim, input, faults } of cases) {
  test(`a definition with ${claim} is refused`, () => {
    assert.deepEqual(faultsOf(CustomResourceDefinition, input), faults);
  });
}

test("group and plural never change, kind and scope not once it is established", () => {
  const established = {
    ...definition(),
    status: { storedVersions: ["v1"], conditions: [{ type: "Established", status: "True" }] },
  };
  const changed = definition({ scope: "Cluster", names: { plural: "crates", kind: "Box" } });

  assert.deepEqual(updateFaultsOf(CustomResourceDefinition, changed, established), [
    'spec.scope: Invalid value: "Cluster": field is immutable',
    'spec.names.kind: Invalid value: "Box": field is immutable',
  ]);
  assert.deepEqual(
    updateFaultsOf(CustomResourceDefinition, changed, { ...established, status: { storedVersions: ["v1"] } }),
    [],
  );
});

test("a format that nobody knows has a warning", () => {
  assert.deepEqual(warningsOfNew(CustomResourceDefinition, withField({ type: "string", format: "odd" })), [
    'unrecognized format "odd"',
  ]);
});
