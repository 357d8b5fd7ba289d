import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { getPriority } from "node:os";
import { text } from "node:stream/consumers";
import { test } from "node:test";

const mayRaise = spawnSync("nice", ["-n", "-1", "true"]).stderr.length === 0;
const skip = mayRaise ? false : "needs CAP_SYS_NICE";

/** The priority of this process's session, or nothing where the kernel has no group for it. */
function sessionPriority(): string {
  try {
    return readFileSync("/proc/self/autogroup", "utf8").split(" ").at(-1)?.trim() ?? "";
  } catch {
    return "";
  }
}

/** The JSON that a script prints after raising its own process, whose priority ends with it. */
async function inRaisedProcess(script: string, { leadsSession = true } = {}): Promise<unknown> {
  const [priority, processes] = ["priority", "processes"].map((name) => import.meta.resolve(`./${name}.ts`));
  const source = `
    import { readdirSync, readFileSync } from "node:fs";
    import { getPriority } from "node:os";
    import { raisePriority } from "${priority}";
    import { eachLine, runCommand, startDaemon } from "${processes}";
    const isRaised = raisePriority();
    console.log(JSON.stringify(await (async () => { ${script} })()));`;
  const args = ["--input-type=module-typescript", "--eval", source];
  const child = spawn(process.execPath, args, { detached: leadsSession, stdio: ["ignore", "pipe", "inherit"] });
  return JSON.parse(await text(child.stdout));
}

test("raisePriority() raises every thread, including one that is started later", { skip }, async () => {
  const found = await inRaisedProcess(`
    await import("node:fs/promises").then(({ readFile }) => readFile("/proc/self/stat")); // Starts the pool's threads.
    return { isRaised, threads: readdirSync("/proc/self/task").map((thread) => getPriority(Number(thread))) };`);

  const { isRaised, threads } = found as { isRaised: boolean; threads: number[] };
  assert(isRaised);
  assert(threads.length > 4);
  assert.deepEqual([...new Set(threads)], [-7]);
});

test("raisePriority() raises the session that it leads, and no other", { skip }, async () => {
  const before = sessionPriority();
  const script = `return (${sessionPriority})();`;
  const own = await inRaisedProcess(script);
  const shared = await inRaisedProcess(script, { leadsSession: false });

  if (existsSync("/proc/self/autogroup")) assert.equal(own, "-7");
  assert.equal(shared, before);
});

test("raisePriority() returns false without permission", { skip }, async () => {
  const script = `import { raisePriority } from "${import.meta.resolve("./priority.ts")}"; console.log(raisePriority());`;
  const args = [process.execPath, "--input-type=module", "--eval", script];
  const child = spawn("setpriv", ["--bounding-set", "-sys_nice", "--inh-caps", "-sys_nice", ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });

  assert.equal(await text(child.stdout), "false\n");
});

for (const [how, script] of [
  ["runCommand()", `return Number((await runCommand("nice", [])).stdout);`],
  ["eachLine()", `let seen; await eachLine("nice", [], (line) => { seen = Number(line); }); return seen;`],
  [
    "startDaemon()",
    `const { pid } = await startDaemon("sleep", ["60"], "/dev/null");
     try { return getPriority(pid); } finally { process.kill(pid); }`,
  ],
] as const) {
  test(`${how} starts programs at normal priority, and the process keeps its own`, { skip }, async () => {
    const found = await inRaisedProcess(`
      const seen = await (async () => { ${script} })();
      return { child: seen, own: getPriority() };`);

    assert.deepEqual(found, { child: 0, own: -7 });
  });
}

test("a program that cannot be started leaves the priority as it was", { skip }, async () => {
  const before = getPriority();
  const found = await inRaisedProcess(`
    const failed = await runCommand("/nowhere/at-all", []).then(() => false, () => true);
    return { failed, own: getPriority() };`);

  assert.deepEqual(found, { failed: true, own: -7 });
  assert.equal(getPriority(), before);
});
