import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import { equal } from "#lib/data/equal.ts";
import { formatYaml, parseYaml } from "#lib/yaml/yaml.ts";
import { decode } from "#schema/json/decode.ts";
import { duplicateKeys, parseJson } from "#schema/json/json.ts";
import { encodeProtobuf } from "#schema/protobuf/protobuf.ts";
import { decodeProtobuf } from "#schema/protobuf/protobuf-decode.ts";
import { arbitrary, Random } from "#testing/arbitrary.ts";
import { everyKind } from "#testing/every-kind.ts";
import { type Resource } from "./resource.ts";

const rounds = 20;
const nameOf = ({ group, version, kind }: Resource): string => `${group || "core"}/${version} ${kind}`;

for (const resource of everyKind) {
  const { schema } = resource;
  const plain = (raw: unknown) => decode(schema, raw, { defaults: false });

  test(`any ${nameOf(resource)} comes back from JSON, YAML and protobuf as it was`, async () => {
    for (let seed = 0; seed < rounds; seed++) {
      const value = plain(arbitrary(schema, new Random(seed))).value;

      const { value: parsed, text } = parseJson(Buffer.from(JSON.stringify(value)));
      const fromJson = plain(parsed);
      const fromYaml = plain((await parseYaml(await formatYaml(value))).value);
      const fromProtobuf = plain(decodeProtobuf(schema, encodeProtobuf(schema, value)));

      assert(equal(fromJson.value, value), `JSON, seed ${seed}`);
      assert.deepEqual([fromJson.unknown, duplicateKeys(text, fromJson.keys)], [[], []]);
      if (!equal(fromYaml.value, value)) assert.deepEqual(fromYaml.value, value, `YAML, seed ${seed}`);
      if (!equal(fromProtobuf.value, value)) assert.deepEqual(fromProtobuf.value, value, `protobuf, seed ${seed}`);
    }
  });

  test(`the defaults of any ${nameOf(resource)} are filled in once`, () => {
    for (let seed = 0; seed < rounds; seed++) {
      const once = decode(schema, arbitrary(schema, new Random(seed)), { defaults: true }).value;

      const twice = decode(schema, JSON.parse(JSON.stringify(once)), { defaults: true }).value;

      if (!equal(twice, once)) assert.deepEqual(twice, once, `seed ${seed}`);
    }
  });
}
