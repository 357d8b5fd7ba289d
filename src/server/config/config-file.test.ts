import assert from "node:assert/strict";
import { test } from "node:test";
import { defaulted, optional, required } from "#schema/fields.ts";
import { object } from "#schema/schema.ts";
import { int32, list, string } from "#schema/types.ts";
import { type ConfigKind, parseConfig, readConfigFile } from "./config-file.ts";

const schema = object("test/v1.Menu", "A menu.", {
  apiVersion: optional(1, string()),
  kind: optional(2, string()),
  dishes: optional(
    3,
    list(object("test/v1.Dish", "A dish.", { name: required(1, string()), price: defaulted(2, int32(), 5) })),
  ),
});
const menu: ConfigKind<NonNullable<(typeof schema)["typed"]>> = {
  kind: "Menu",
  apiVersions: ["test/v1"],
  schema,
  validate: (at) => at.each("dishes", (at) => at.value.name === "soap" && at.field("name").invalid("is no food")),
};
const parse = (text: string) => parseConfig(menu, text, "menu.yaml");
const head = "apiVersion: test/v1\nkind: Menu\n";

test("parseConfig() reads YAML and JSON and fills in defaults", async () => {
  const expected = { apiVersion: "test/v1", kind: "Menu", dishes: [{ name: "soup", price: 5 }] };

  assert.deepEqual(await parse(`${head}dishes: [{name: soup}]`), expected);
  assert.deepEqual(await parse(JSON.stringify(expected)), expected);
});

const faults: readonly (readonly [text: string, message: string | RegExp])[] = [
  ["", "menu.yaml: kind: must be Menu, not absent"],
  ["kind: Bill", 'menu.yaml: kind: must be Menu, not "Bill"'],
  ["kind: Menu\napiVersion: v2", 'menu.yaml: apiVersion: must be test/v1, not "v2"'],
  [
    `${head}dishes: [{name: soap}, {}]`,
    /^menu.yaml: dishes\[1\].name: Required value; dishes\[0\].name: Invalid value/,
  ],
  [`${head}dishes: [{name: a, cost: 1}]`, "menu.yaml: dishes[0].cost: there is no such field in Menu"],
  [`${head}dishes: {}`, /^menu.yaml: .*dishes/],
  [`${head}kind: Menu`, /^menu.yaml: line 3: key "kind" already set/],
  ["{", /^menu.yaml: is neither YAML nor JSON/],
];
for (const [text, message] of faults) {
  test(`parseConfig() refuses ${JSON.stringify(text)} in one line`, async () => {
    await assert.rejects(parse(text), { name: "ConfigFileError", message });
  });
}

test("readConfigFile() names the file and the flag", async () => {
  await assert.rejects(readConfigFile("/nowhere/menu.yaml", "menu"), {
    message: /^cannot read \/nowhere\/menu.yaml \(ENOENT.*check --menu/,
  });
});
