import assert from "node:assert/strict";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { makeDirectory } from "./make-directory.ts";

const temp = mkdtempSync(path.join(tmpdir(), "orlop-test-"));
after(() => rmSync(temp, { recursive: true }));
const mode = 0o700;

test("makeDirectory() makes every missing directory with its mode, even if two calls do so concurrently", async () => {
  const dir = path.join(temp, "a/b/c");

  await Promise.all([makeDirectory(dir, { mode }), makeDirectory(dir, { mode })]);
  await makeDirectory(dir, { mode });

  for (const each of ["a", "a/b", "a/b/c"]) assert.equal(statSync(path.join(temp, each)).mode & 0o777, mode);
});

test("makeDirectory() returns an error where no directory can be made", { timeout: 120_000 }, async () => {
  const file = path.join(temp, "file");
  writeFileSync(file, "");

  await assert.rejects(makeDirectory("/proc/x", { mode }), { code: "ENOENT", path: "/proc/x" });
  await assert.rejects(makeDirectory("/proc/x/y", { mode }), { code: "ENOENT", path: "/proc/x" });
  await assert.rejects(makeDirectory(file, { mode }), { code: "EEXIST", path: file });
  await assert.rejects(makeDirectory(path.join(file, "below"), { mode }), { code: "EEXIST", path: file });
});
