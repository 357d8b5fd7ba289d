import assert from "node:assert/strict";
import { test } from "node:test";
import { type JsonSchema } from "../json-schema.ts";
import { type Schema } from "../schema.ts";
import { explainFault } from "./decode-faults.ts";

test("explainFault() does not repeat a path of many long keys for each unknown field", () => {
  let json: JsonSchema = { type: "object", properties: { a: { type: "string" } } };
  let raw: object = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`field${index}`, 1]));
  for (let level = 0; level < 60; level++) {
    json = { type: "object", additionalProperties: json };
    raw = { ["k".repeat(8000)]: raw };
  }
  const schema = { type: "object", name: "Thing", fields: {}, options: { structural: json } } as unknown as Schema;

  const unknown = explainFault(schema, raw);

  assert.equal(unknown.length, 100);
  assert(unknown.join().length < 2_000_000, `${unknown.join().length} characters`);
});
