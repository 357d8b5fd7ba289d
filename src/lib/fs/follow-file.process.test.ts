import assert from "node:assert/strict";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { systemClock } from "#lib/async/clock.ts";
import { isAbort } from "#lib/async/tasks.ts";
import { followFile } from "./follow-file.ts";

test("followFile() reports a change until it is taken, and nothing else", async () => {
  const dir = await mkdtemp(path.join(tmpdir(), "orlop-follow-"));
  try {
    const file = path.join(dir, "file");
    const replace = async (text: string): Promise<void> => {
      await writeFile(`${file}.new`, text);
      await rename(`${file}.new`, file);
    };
    await replace("one");
    const stop = new AbortController();
    const seen: string[] = [];
    const changed = async (text: string): Promise<boolean> => {
      seen.push(text);
      if (text === "two" && seen.length === 2) await replace("three");
      if (text === "three") stop.abort();
      return text !== "two";
    };
    const following = followFile(file, { clock: systemClock, everyMs: 1, text: "one", changed }, stop.signal);
    await replace("two");
    await assert.rejects(following, (error) => isAbort(error, stop.signal));
    assert.deepEqual(seen, ["two", "two", "three"]);
  } finally {
    await rm(dir, { recursive: true });
  }
});
