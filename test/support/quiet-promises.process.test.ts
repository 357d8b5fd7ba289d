import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import path from "node:path";
import { test } from "node:test";

const preload = path.join(import.meta.dirname, "quiet-promises.ts");
const inTest = (body: string): string => `import { test } from "node:test"; test("one", async () => { ${body} });`;
const runTest = (body: string) =>
  spawnSync(process.execPath, ["--import", preload, "--input-type=module", "--eval", inTest(body)], {
    encoding: "utf8",
  });

test("an unhandled error still fails the file, and is reported", () => {
  const later = (what: string): string =>
    `setTimeout(() => { ${what} }, 1); await new Promise((resolve) => setTimeout(resolve, 50));`;

  const rejected = runTest(later(`Promise.reject(new Error("no hands"))`));
  const thrown = runTest(later(`throw new Error("no hands")`));

  for (const { status, stdout } of [rejected, thrown]) {
    assert.equal(status, 1, stdout);
    assert.match(stdout, /no hands/);
  }
});

test("a test that passes passes", () => {
  assert.equal(runTest("await 1").status, 0);
});
