import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { closeSync, existsSync, openSync } from "node:fs";
import { test } from "node:test";

test("a full disk under the log loses lines, and not the process", { skip: !existsSync("/dev/full") }, () => {
  const full = openSync("/dev/full", "w");
  const script = `import { jsonLog, writeStandardError } from ${JSON.stringify(import.meta.resolve("./log.ts"))};
    const log = jsonLog(writeStandardError);
    log.info("lost");
    setImmediate(() => { log.info("lost too"); process.stdout.write("lives"); });`;

  const { stdout, status } = spawnSync(process.execPath, ["--input-type=module", "--eval", script], {
    stdio: ["ignore", "pipe", full],
  });
  closeSync(full);

  assert.equal(stdout.toString(), "lives");
  assert.equal(status, 0);
});
