import { spawn } from "node:child_process";

/** A command that passes if it exits with 0. */
export interface Job {
  readonly title: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Jobs of one lane run one after another. */
  readonly lane?: string;
  /**
   * Needs nothing but this checkout and time to compute, so it may start before the machine is ready, and leaves the
   * processors to those jobs that wait for other processes.
   */
  readonly yields?: boolean;
  /** Depends on other processes or on the machine, so that a crowded machine can make it fail. */
  readonly retries?: boolean;
}

export interface JobOptions {
  readonly cwd: string;
  /** How many run concurrently. */
  readonly together: number;
  /** After this time, a job is killed. */
  readonly timeoutMs: number;
  /** When the machine has what jobs need. Until then, only those that yield are started. */
  readonly ready?: Promise<void>;
  say(text: string): void;
}

/**
 * Runs all jobs in order. Reports each when it ends, with its output if it failed. Resolves with the titles of failed jobs.
 * A few failed jobs may be tried once more at the end, when nothing else runs. What passes then is reported as unsteady.
 */
export async function runJobs(jobs: readonly Job[], options: JobOptions): Promise<string[]> {
  const started = performance.now();
  const ended = await runAll(jobs, options);
  const again = ended.filter(({ passed }) => !passed).map(({ job }) => job);
  const mayRetry = again.length <= mostRetried && again.every(({ retries }) => retries);
  const last = mayRetry ? await runAll(again, { ...options, together: 1 }) : [];
  const final = new Map([...ended, ...last].map((one) => [one.job, one]));
  for (const { job, passed } of last) {
    if (passed) options.say(`unsteady: ${job.title} failed beside other jobs and passed alone\n`);
  }
  options.say(`\n${renderCounts([...final.values()])}\n`);
  options.say(renderCosts(ended, secondsSince(started)));
  return [...final.values()].filter(({ passed }) => !passed).map(({ job }) => job.title);
}

/** If more jobs fail, the code is wrong and not the moment. */
const mostRetried = 2;

async function runAll(jobs: readonly Job[], options: JobOptions): Promise<Ended[]> {
  const waiting = [...jobs];
  const busy = new Set<string>();
  const ended: Ended[] = [];
  let isReady = false;
  const ready = Promise.resolve(options.ready).then(() => {
    isReady = true;
  });
  // If all workers are busy when it fails, the next one that waits for it says so.
  ready.catch(() => {});
  const take = (): Job | undefined => {
    const next = waiting.findIndex(
      ({ lane, yields }) => (isReady || yields) && (lane === undefined || !busy.has(lane)),
    );
    return next < 0 ? undefined : waiting.splice(next, 1)[0];
  };
  const work = async (_: unknown, index: number): Promise<void> => {
    // The others are free for the longest jobs as soon as the machine is ready.
    if (index >= options.together / 2) await ready;
    for (;;) {
      let job = take();
      if (!job) {
        await ready;
        job = take();
      }
      if (!job) return;
      if (job.lane) busy.add(job.lane);
      ended.push(await report(job, options));
      if (job.lane) busy.delete(job.lane);
    }
  };
  await Promise.all(Array.from({ length: options.together }).map(work));
  return ended;
}

const secondsSince = (start: number): number => (performance.now() - start) / 1000;

interface Ended extends Outcome {
  readonly job: Job;
  readonly seconds: number;
}

/** Undefined if the job does not report it, as support/cpu-time.ts does. */
function cpuSecondsIn(text: string): number | undefined {
  const found = /^ℹ cpu_seconds ([\d.]+)$/m.exec(text)?.[1];
  return found === undefined ? undefined : Number(found);
}

const dearestShown = 5;

/** The time of the whole run, and the jobs that would shorten it most. */
function renderCosts(ended: readonly Ended[], seconds: number): string {
  const costs = ended.map(({ job, text, seconds }) => ({ title: job.title, seconds, cpuSeconds: cpuSecondsIn(text) }));
  const dear = costs.sort((a, b) => (b.cpuSeconds ?? b.seconds) - (a.cpuSeconds ?? a.seconds));
  const lines = dear.slice(0, dearestShown).map(({ title, seconds, cpuSeconds }) => {
    const cpu = cpuSeconds === undefined ? "" : `, ${cpuSeconds.toFixed(1)} s of CPU`;
    return `  ${title}: ${seconds.toFixed(1)} s${cpu}\n`;
  });
  return `took ${seconds.toFixed(1)} s; the dearest:\n${lines.join("")}`;
}

async function report(job: Job, options: JobOptions): Promise<Ended> {
  const started = performance.now();
  const outcome = await run(job, options);
  const seconds = secondsSince(started);
  options.say(`${outcome.passed ? "✔" : "✖"} ${job.title} (${seconds.toFixed(1)} s)\n`);
  if (outcome.passed) for (const [line] of outcome.text.matchAll(skippedLines)) options.say(`${line}\n`);
  else options.say(`${outcome.text}\n`);
  return { ...outcome, job, seconds };
}
const skippedLines = /^\s*﹣.*$/gm;

interface Outcome {
  readonly passed: boolean;
  readonly text: string;
}

/** A third of the weight that other jobs have. */
const patient = ["nice", "-n", "5"];

async function run({ command, args, yields }: Job, { cwd, timeoutMs }: JobOptions): Promise<Outcome> {
  const stdio: ["ignore", "pipe", "pipe"] = ["ignore", "pipe", "pipe"];
  const [program = command, ...rest] = [...(yields ? patient : []), command, ...args];
  const child = spawn(program, rest, { cwd, stdio, timeout: timeoutMs, killSignal: "SIGKILL" });
  let text = "";
  const add = (more: string): void => {
    text += more;
  };
  child.stdout.setEncoding("utf8").on("data", add);
  child.stderr.setEncoding("utf8").on("data", add);
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  child.once("error", (error) => resolve({ passed: false, text: `${text}${error}` }));
  child.once("close", (code, signal) => {
    const end = signal ? `killed by ${signal}, perhaps after ${timeoutMs / 1000} s` : `ended with ${code}`;
    resolve({ passed: code === 0, text: code === 0 ? text : `${text}\n${end}` });
  });
  return await promise;
}

/** Adds up the summary lines of Node's test runs. */
function renderCounts(ended: readonly Ended[]): string {
  const totals = new Map<string, number>();
  for (const { text } of ended) {
    for (const [, name = "", number] of text.matchAll(/^ℹ (tests|pass|fail|cancelled|skipped) (\d+)$/gm)) {
      totals.set(name, (totals.get(name) ?? 0) + Number(number));
    }
  }
  return [...totals].map(([name, number]) => `${name} ${number}`).join(", ");
}
