import assert from "node:assert/strict";
import { test } from "node:test";
import { checkPath } from "./check-path.ts";

const good = ["/apis/g/v1", "/apis/g/v1/", "/apis/g/v1/namespaces/n/things/a%20b", "/apis/g/v1/things/a..b/status"];
const bad = [
  "/apis/g/v1/../x",
  "/apis/g/./x",
  "/apis/g/%2E%2e/x",
  "/apis/g//x",
  "/apis/a%2fb",
  "/apis/a%5Cb",
  "/apis/%0a",
  "/apis/%zz",
];

test("checkPath() refuses what another server could read differently", () => {
  for (const path of good) assert.doesNotThrow(() => checkPath(path), path);
  for (const path of bad) assert.throws(() => checkPath(path), { code: 400 }, path);
});
