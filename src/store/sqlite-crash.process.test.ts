/** Kills a writing process repeatedly; this file is also the process that is killed. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { systemClock } from "#lib/async/clock.ts";
import { silentLog } from "#lib/process/log.ts";
import { killRepeatedly, writeForEver } from "./crash.suite.ts";
import { openSqliteStore } from "./sqlite.ts";

const options = { clock: systemClock, log: silentLog };
const [, , role, directory = "", round = ""] = process.argv;

if (role === "write") await writeForEver(await openSqliteStore(directory, options), round);
else {
  test("kill -9 at any moment loses no acknowledged commit and leaves no partial one", async () => {
    const dataDir = mkdtempSync(join(tmpdir(), "orlop-crash-"));
    try {
      await killRepeatedly({
        rounds: Number(process.env.ROUNDS ?? 8), // `ROUNDS=20` kills more often.
        writer: (n) => [import.meta.filename, "write", dataDir, String(n)],
        open: () => openSqliteStore(dataDir, options),
      });
    } finally {
      rmSync(dataDir, { recursive: true, force: true });
    }
  });
}
