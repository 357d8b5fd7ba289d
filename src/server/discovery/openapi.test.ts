import assert from "node:assert/strict";
import { test } from "node:test";
import { allResources } from "#api/all.ts";
import { atOnce } from "#lib/async/turns.ts";
import { seededRandom } from "#lib/data/random.ts";
import { openApiV2, openApiV3 } from "#schema/openapi/openapi.ts";
import { jsonPartsV2, jsonPartsV3 } from "#schema/openapi/openapi-json-parts.ts";
import { type OpenApiResource } from "#schema/openapi/openapi-operations.ts";
import { OpenApiParts, type PartsFormat } from "#schema/openapi/openapi-parts.ts";
import { openApiV2Protobuf, protobufPartsV2 } from "#schema/openapi/openapi-v2-protobuf.ts";
import { type ObjectSchema } from "#schema/schema.ts";
import { openApiOptions } from "./openapi.ts";

// A few of our own kinds will do: all of them take a second for each document.
const own = allResources.slice(0, 20) as readonly OpenApiResource[];
const [model] = own;
assert(model);

/** A custom kind of one of a few groups, with a schema that differs from time to time. */
function customKind(random: () => number): OpenApiResource {
  const [group, kind] = [`g${Math.floor(random() * 2)}.example.com`, `Kind${Math.floor(random() * 6)}`];
  const { apiVersion, kind: kindField, metadata } = (model as OpenApiResource).schema.fields;
  const schema = { ...model?.schema, name: `${group}/v1.${kind}`, fields: { apiVersion, kind: kindField, metadata } };
  const names = Array.from({ length: 1 + Math.floor(random() * 5) }, (_, index) => `field${index}`);
  return {
    ...{ group, version: "v1", kind, plural: `${kind.toLowerCase()}s`, listKind: `${kind}List`, isJsonOnly: true },
    scope: random() < 0.5 ? "Namespaced" : "Cluster",
    verbs: ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
    schema: schema as unknown as ObjectSchema<unknown>,
    subresources: random() < 0.5 ? [] : [{ name: "status", verbs: ["get", "patch", "update"] }],
    definition: {
      type: "object",
      description: `Text ${random()}.`,
      properties: Object.fromEntries(names.map((name) => [name, { type: "string", description: name }])),
    },
  };
}

const keyOf = ({ group, kind }: OpenApiResource): string => `${group}/${kind}`;

test("documents from parts say the same as those that are built anew, after any changes of kinds", () => {
  const random = seededRandom(Number(process.env.SEED ?? 7));
  const partsIn = (format: PartsFormat) => new OpenApiParts(openApiOptions, format);
  const [json, protobuf, group] = [partsIn(jsonPartsV2), partsIn(protobufPartsV2), partsIn(jsonPartsV3)];
  const kinds = new Map<string, OpenApiResource>();
  for (let round = 0; round < Number(process.env.ROUNDS ?? 5); round++) {
    const changed = customKind(random);
    if (random() < 0.3) kinds.delete([...kinds.keys()][0] ?? "");
    else kinds.set(keyOf(changed), changed);
    const served = [...own, ...kinds.values()];
    const anew = atOnce(openApiV2(served, openApiOptions));
    assert.equal(Buffer.from(atOnce(json.document(served))).toString(), JSON.stringify(anew));
    const expected = Buffer.from(atOnce(openApiV2Protobuf(anew)));
    assert.equal(expected.compare(atOnce(protobuf.document(served))), 0);
    const ofGroup = served.filter((kind) => kind.group === "g0.example.com");
    const v3 = atOnce(openApiV3(served, "g0.example.com/v1", openApiOptions));
    assert.equal(Buffer.from(atOnce(group.document(ofGroup))).toString(), JSON.stringify(v3));
  }
});

test("a change of one kind describes that kind alone", () => {
  const written: string[] = [];
  const format: PartsFormat = {
    ...jsonPartsV2,
    member(list, name, value) {
      if (list === "definitions") written.push(name);
      return jsonPartsV2.member(list, name, value);
    },
  };
  const parts = new OpenApiParts(openApiOptions, format);
  const random = seededRandom(1);
  const [one, other] = [customKind(random), customKind(random)];
  atOnce(parts.document([...own, one]));
  written.length = 0;
  atOnce(parts.document([...own, one, other]));
  const { kind } = other;
  const name = `com.example.${other.group.split(".")[0]}.v1.${kind}`;
  const inEveryGroup = ["DeleteOptions", "WatchEvent"].map((type) => `io.k8s.apimachinery.pkg.apis.meta.v1.${type}`);
  assert.deepEqual(written.sort(), [name, `${name}List`, ...inEveryGroup]);
});
