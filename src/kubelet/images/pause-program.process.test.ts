import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { goArchitecture } from "#lib/process/go-architecture.ts";
import { buildPauseImage } from "./import.ts";
import { pauseProgram } from "./pause-program.ts";

const machine = goArchitecture() === "arm64" ? "arm64" : "amd64";

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  test(`the pause program waits, and exits with 0 on ${signal}`, async (t) => {
    const dir = await mkdtemp(`${tmpdir()}/orlop-pause-`);
    t.after(() => rm(dir, { recursive: true }));
    await writeFile(`${dir}/pause`, pauseProgram(machine), { mode: 0o755 });
    const child = spawn(`${dir}/pause`, { stdio: "ignore" });
    await once(child, "spawn");
    // It handles signals only once it waits for them, and it sleeps for nothing else.
    while (!(await isAsleep(child.pid))) await setImmediate();

    child.kill("SIGCHLD");
    child.kill(signal);
    const [code] = await once(child, "exit");

    assert.equal(code, 0);
  });
}

/** From a file that every user may read, whatever the machine allows to trace. */
const isAsleep = async (pid: number | undefined): Promise<boolean> =>
  /^State:\s*S/m.test(await readFile(`/proc/${pid}/status`, "utf8"));

test("the pause image is reproducible for each architecture", () => {
  assert.equal(buildPauseImage("amd64").id, buildPauseImage("amd64").id);
  assert.notEqual(buildPauseImage("amd64").id, buildPauseImage("arm64").id);
  assert(pauseProgram("arm64").length < 400);
});
