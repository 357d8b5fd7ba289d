import assert from "node:assert/strict";
import { test } from "node:test";
import { iscsiNameFault } from "./validate-volume-sources.ts";

const bad = "must be valid format";
const names: readonly (readonly [name: string, fault: string | undefined])[] = [
  ["iqn.2001-04.com.example:disk", undefined],
  ["iqn.2001-04.com.example:disk:one", undefined],
  ["iqn text, iqn.2001-04.com.example:disk", undefined],
  ["iqn.2001-04.com.example", bad],
  ["iqn.2001-04.com.example:", bad],
  ["iqn.2001-04.:disk", bad],
  ["iqn.2001-04.com_example:disk", bad],
  ["iqn.2001-04.com.example:a disk", bad],
  ["iqn.2001-4.com.example:disk", bad],
  ["eui.0123456789abcdef", undefined],
  ["eui.0123456789abcde", bad],
  ["naa.0123456789abcdef0123456789abcdef", undefined],
  ["disk", "must be valid format starting with iqn, eui, or naa"],
];
for (const [name, fault] of names) {
  test(`the iSCSI name ${name} is ${fault ? "refused" : "taken"}`, () => assert.equal(iscsiNameFault(name), fault));
}

test("a long iSCSI name is checked in time", () => {
  // A pattern that starts again at each of these would take minutes.
  assert.equal(iscsiNameFault("iqn.2001-04.".repeat(100_000)), bad);
  assert.equal(iscsiNameFault(`${"iqn.2001-04.a:".repeat(100_000)} `), bad);
  assert.equal(iscsiNameFault(`iqn.2001-04.a${":".repeat(100_000)}`), undefined);
});
