import assert from "node:assert/strict";
import { test } from "node:test";
import { hasBackstep } from "./validate-path.ts";

for (const path of ["..", "../a", "a/..", "/../a", "a/../b", "//.."]) {
  test(`the path ${path} has a step back`, () => assert(hasBackstep(path)));
}
for (const path of ["", ".", "...", "a..", "..a", "a/..b/c", "a../b", "\n../.\n."]) {
  test(`the path ${JSON.stringify(path)} has no step back`, () => assert(!hasBackstep(path)));
}
