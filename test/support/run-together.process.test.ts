import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";

const here = import.meta.dirname;
const passing = `import { test } from "node:test"; test("good", () => {});`;

/** Runs a file together with one that passes. */
async function runBeside(text: string) {
  const dir = await mkdtemp(path.join(tmpdir(), "orlop-together-"));
  try {
    const files = [path.join(dir, "a.test.mjs"), path.join(dir, "b.test.mjs")] as const;
    await writeFile(files[0], text);
    await writeFile(files[1], passing);
    const preload = ["--import", path.join(here, "quiet-promises.ts")];
    const args = [...preload, path.join(here, "run-together.ts"), ...files];
    // The runner tells its children by this variable that they are children.
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    return spawnSync(process.execPath, args, { encoding: "utf8", env });
  } finally {
    await rm(dir, { recursive: true });
  }
}

test("files that pass pass, and all of their tests are counted", async () => {
  const { status, stdout } = await runBeside(passing);

  assert.equal(status, 0, stdout);
  assert.match(stdout, /ℹ tests 2\n/);
});

const later = (what: string): string => `import { test } from "node:test"; test("bad", async () => {
  setTimeout(() => { ${what} }, 1); await new Promise((resolve) => setTimeout(resolve, 50)); });`;
const bad: readonly [what: string, text: string][] = [
  ["a test that fails", `import { test } from "node:test"; test("bad", () => { throw new Error("no hands"); });`],
  ["a file that cannot be loaded", `throw new Error("no hands");`],
  ["an unhandled rejection", later(`Promise.reject(new Error("no hands"))`)],
  ["an unhandled error", later(`throw new Error("no hands")`)],
];
for (const [what, text] of bad) {
  test(`${what} fails the run, and is reported`, async () => {
    const { status, stdout, stderr } = await runBeside(text);

    assert.notEqual(status, 0, stdout);
    assert.match(stdout + stderr, /no hands/);
  });
}
