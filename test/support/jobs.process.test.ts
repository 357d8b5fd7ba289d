import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { getPriority, tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { type Job, runJobs } from "./jobs.ts";

const node = (title: string, script: string, lane?: string): Job => {
  const job = { title, command: process.execPath, args: ["--eval", script] };
  return lane ? { ...job, lane } : job;
};

async function run(jobs: readonly Job[], timeoutMs = 60_000): Promise<{ failed: string[]; said: string }> {
  let said = "";
  const say = (text: string): void => {
    said += text;
  };
  return { failed: await runJobs(jobs, { cwd: "/", together: 3, timeoutMs, say }), said };
}

test("a failed job is named with its output, and the others still run", async () => {
  const { failed, said } = await run([
    node("good", "console.log('nobody needs to read this')"),
    node("bad", "console.log('this is why'); process.exitCode = 3"),
    { title: "missing", command: "/no/such/program", args: [] },
  ]);

  assert.deepEqual(failed.sort(), ["bad", "missing"]);
  assert.match(said, /✔ good/);
  assert.match(said, /✖ bad .*\nthis is why\n\nended with 3/);
  assert.doesNotMatch(said, /nobody needs/);
});

test("a job that does not end is killed and fails", async () => {
  const { failed, said } = await run([node("endless", "setInterval(() => {}, 1000)")], 1000);

  assert.deepEqual(failed, ["endless"]);
  assert.match(said, /killed by SIGKILL/);
});

test("before the machine is ready, only jobs that yield are started", async (t) => {
  const directory = await mkdtemp(path.join(tmpdir(), "orlop-jobs-"));
  t.after(() => rm(directory, { recursive: true }));
  const file = JSON.stringify(path.join(directory, "order"));
  const writes = (title: string) => node(title, `fs.appendFileSync(${file}, "${title} ")`);
  const jobs = [writes("waits"), { ...writes("yields"), yields: true }, { ...writes("too"), yields: true }];
  const { promise: ready, resolve } = Promise.withResolvers<void>();
  let said = "";
  const say = (text: string): void => {
    said += text;
    if (said.includes("✔ too")) resolve();
  };

  const failed = await runJobs(jobs, { cwd: "/", together: 2, timeoutMs: 60_000, ready, say });

  assert.deepEqual(failed, []);
  assert.equal(await readFile(path.join(directory, "order"), "utf8"), "yields too waits ");
});

test("if the machine cannot be made ready, the run fails with the reason", async () => {
  const ready = Promise.reject(new Error("no network"));
  const jobs = [node("waits", ""), { ...node("yields", ""), yields: true }];

  const ran = runJobs(jobs, { cwd: "/", together: 2, timeoutMs: 60_000, ready, say() {} });

  await assert.rejects(ran, /no network/);
});

test("a job that yields has less weight than others", async () => {
  const script = (nice: number) => `process.exitCode = os.getPriority() === ${nice} ? 0 : 1`;
  const own = getPriority();

  const { failed } = await run([
    node("one", script(own)),
    { ...node("other", script(Math.min(own + 5, 19))), yields: true },
  ]);

  assert.deepEqual(failed, []);
});

/** Fails the first time that it runs in a directory. */
const failsOnce = (title: string, directory: string): Job => {
  const file = JSON.stringify(path.join(directory, title));
  const script = `if (!fs.existsSync(${file})) { fs.writeFileSync(${file}, ""); process.exitCode = 1 } console.log("ℹ tests 1")`;
  return { ...node(title, `const fs = require("node:fs"); ${script}`), retries: true };
};

test("a failed job that depends on the machine is tried once more, alone", async (t) => {
  const directory = await mkdtemp(path.join(tmpdir(), "orlop-jobs-"));
  t.after(() => rm(directory, { recursive: true }));
  const bad = { ...node("bad", "process.exitCode = 1"), retries: true };

  const { failed, said } = await run([failsOnce("shy", directory), bad, node("good", "")]);

  assert.deepEqual(failed, ["bad"]);
  assert.match(said, /unsteady: shy failed beside other jobs and passed alone\n\ntests 1\n/);
});

test("no job is tried again if one fails that depends on nothing, or if many fail", async (t) => {
  const directory = await mkdtemp(path.join(tmpdir(), "orlop-jobs-"));
  t.after(() => rm(directory, { recursive: true }));
  const many = ["a", "b", "c"].map((title) => failsOnce(title, directory));

  const beside = await run([failsOnce("shy", directory), node("unit", "process.exitCode = 1")]);
  const crowd = await run(many);

  assert.deepEqual(beside.failed.sort(), ["shy", "unit"]);
  assert.deepEqual(crowd.failed.sort(), ["a", "b", "c"]);
});

test("Node's test summaries are added up, and skipped tests are shown", async () => {
  const { said } = await run([
    node("one", "console.log('﹣ needs a moon # SKIP\\nℹ tests 3\\nℹ skipped 1')"),
    node("two", "console.log('ℹ tests 4\\nℹ skipped 0')"),
  ]);

  assert.match(said, /tests 7, skipped 1/);
  assert.match(said, /﹣ needs a moon # SKIP/);
});

test("the dearest jobs are listed by the CPU time that they report, or else by their duration", async () => {
  const jobs = [1, 2, 3, 40, 50, 60].map((cpu) => node(`cpu-${cpu}`, `console.log('ℹ cpu_seconds ${cpu}.25')`));

  const { said } = await run(jobs);

  const summary = said.slice(said.indexOf("the dearest"));
  assert.deepEqual(
    [...summary.matchAll(/^ {2}(cpu-\d+): [\d.]+ s, ([\d.]+) s of CPU$/gm)].map(([, title, cpu]) => [title, cpu]),
    [60, 50, 40, 3, 2].map((cpu) => [`cpu-${cpu}`, `${cpu}.3`]),
  );
});

test("jobs of one lane do not overlap", async () => {
  const log = (name: string): string =>
    `process.stdout.write(Date.now() + " "); setTimeout(() => { console.log(Date.now()); process.exitCode = 1 }, 50) // ${name}`;
  const { said } = await run(["a", "b", "c"].map((name) => node(name, log(name), "lane")));

  const spans = [...said.matchAll(/^(\d{10,}) (\d{10,})$/gm)].map(
    ([, from, to]) => [Number(from), Number(to)] as const,
  );
  assert.equal(spans.length, 3);
  spans.forEach(([from], at) => {
    assert(from >= (spans[at - 1]?.[1] ?? 0), `job ${at} began before the one before it had ended`);
  });
});
