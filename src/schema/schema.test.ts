import assert from "node:assert/strict";
import { test } from "node:test";
import { embedded, nullable, optional, present } from "./fields.ts";
import { inPackage } from "./schema.ts";
import { string } from "./types.ts";

const object = inPackage("example/v1");
const fields = { name: optional(1, string(), "Name of the part.") };
const Part = object("Part", "A part.", fields);

test("an object that is declared with its field is the same as one that is declared apart from it", () => {
  assert.deepEqual(object.nullable(3, "Part", "A part.", fields), nullable(3, Part));
  assert.deepEqual(object.embedded(3, "Part", "A part.", fields), embedded(3, Part));
  assert.deepEqual(object.present(3, "Part", "A part.", fields), present(3, Part));
  assert.deepEqual(
    object.atomic.nullable(3, "Part", "A part.", fields),
    nullable(3, object.atomic("Part", "A part.", fields)),
  );
});

test("object.filledBy() declares an object with its defaults", () => {
  const fill = (): void => {};

  assert.deepEqual(object.filledBy(fill, "Part", "A part.", fields).options, { doc: "A part.", defaults: fill });
});
