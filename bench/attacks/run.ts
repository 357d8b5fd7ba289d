/** `npm run bench -- attacks`: every attack, one after another, against a cluster that `./orlop up` started. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { atNormalPriority, raisePriority } from "#lib/process/priority.ts";
import { type Health, watchHealth } from "../lib/health.ts";
import { type RunningCluster, startRunningCluster } from "../lib/running-cluster.ts";
import { usageOf } from "../lib/usage.ts";
import { makeVictim, openAttackersNamespace } from "./prepare.ts";
import { type AttackerReport, type AttackOrder, openTarget, type TargetFacts } from "./target.ts";

/** The files in this folder that are not attacks. */
const frame = new Set(["attack", "attacker", "prepare", "run", "target"]);
/** How long an attack may continue after its time is over. */
const gracePeriodMs = 60_000;
/** How much more memory the process may hold some time after an attack. */
const keptMiB = 60;

interface Result {
  readonly name: string;
  readonly claim: string;
  readonly outcome: string;
  readonly holds: boolean;
  readonly health: Health;
  readonly beforeMiB: number;
  readonly peakMiB: number;
  readonly afterMiB: number;
  /** Seconds until memory was back; undefined if it was not within the time. */
  readonly returnedAfter: number | undefined;
  readonly isSameProcess: boolean;
}

export async function runAttacks(args: readonly string[]): Promise<void> {
  const { values: flags } = parseArgs({
    args: [...args],
    options: {
      seconds: { type: "string", default: "60" },
      rest: { type: "string", default: "60" },
      only: { type: "string", default: "" },
      json: { type: "boolean", default: false },
    },
  });
  const wanted = flags.only ? flags.only.split(",") : attackNames();
  const times = { seconds: Number(flags.seconds), restSeconds: Number(flags.rest) };
  await using cluster = await startRunningCluster();
  raisePriority(); // The attacker's process must not slow down the clock that measures the server.
  const results: Result[] = [];
  for (const name of wanted) {
    const result = await attackOnce(cluster, name, times);
    results.push(result);
    process.stdout.write(flags.json ? `${JSON.stringify(result)}\n` : renderResult(result));
  }
  const bad = results.filter((result) => faultsOf(result).length > 0);
  process.stdout.write(`\n${results.length - bad.length} held, ${bad.length} did not\n`);
  process.exitCode = bad.length > 0 ? 1 : 0;
}

export const attackNames = (): string[] =>
  readdirSync(import.meta.dirname)
    .map((file) => path.basename(file, ".ts"))
    .filter((name) => !frame.has(name))
    .sort();

async function attackOnce(
  cluster: RunningCluster,
  name: string,
  { seconds, restSeconds }: { seconds: number; restSeconds: number },
): Promise<Result> {
  const pid = cluster.pid();
  const facts = await prepare(cluster, name);
  const order: AttackOrder = { name, facts, seconds };
  const program = path.join(import.meta.dirname, "attacker.ts");
  const attacker = atNormalPriority(() => fork(program, [JSON.stringify(order)]));
  try {
    const prepared = await nextReport(attacker, 120_000);
    const claim = prepared.type === "prepared" ? prepared.claim : "";
    const beforeMiB = usageOf(pid).residentMiB;
    const watching = new AbortController();
    const health = watchHealth(cluster, watching.signal);
    const memory = watchMemory(pid, watching.signal);
    attacker.send("go");
    const over = await nextReport(attacker, seconds * 1000 + gracePeriodMs);
    watching.abort();
    const seen = { health: await health, peakMiB: await memory };
    const returnedAfter = await untilBack(pid, beforeMiB, restSeconds);
    const ended = over.type === "over" ? over : { outcome: "it ended without a report", holds: false };
    const { outcome, holds } = ended;
    const isSameProcess = cluster.pid() === pid;
    const afterMiB = isSameProcess ? usageOf(pid).residentMiB : 0;
    return { name, claim, outcome, holds, ...seen, beforeMiB, afterMiB, returnedAfter, isSameProcess };
  } finally {
    attacker.kill("SIGKILL");
    await removeNamespace(facts);
  }
}

async function prepare(cluster: RunningCluster, name: string): Promise<TargetFacts> {
  const { url, tls, dataDir, kubeconfig } = cluster;
  const victimNamespace = "victim";
  const base = { url, tls, dataDir, kubeconfig, pid: cluster.pid(), victimNamespace };
  using admin = openTarget({ ...base, namespace: "", token: "" });
  await makeVictim(admin, victimNamespace);
  const namespace = `attack-${name}`.slice(0, 63);
  const token = await openAttackersNamespace(admin, namespace);
  return { ...base, namespace, token };
}

async function removeNamespace(facts: TargetFacts): Promise<void> {
  using admin = openTarget(facts);
  const path = `/api/v1/namespaces/${facts.namespace}`;
  await admin.ask({ as: "admin", method: "DELETE", path }).catch(() => {});
}

async function nextReport(attacker: ChildProcess, limitMs: number): Promise<AttackerReport> {
  const signal = AbortSignal.timeout(limitMs);
  try {
    const ended = once(attacker, "exit", { signal }).then(([code]): [AttackerReport] => [
      { type: "over", outcome: `the attacker's process ended with ${code}`, holds: false },
    ]);
    const [report] = await Promise.race([once(attacker, "message", { signal }) as Promise<[AttackerReport]>, ended]);
    return report;
  } catch {
    return { type: "over", outcome: `the attack did not end within ${limitMs / 1000} s`, holds: false };
  }
}

/** Seconds until the process holds little more memory than before the attack. */
async function untilBack(pid: number, beforeMiB: number, seconds: number): Promise<number | undefined> {
  for (let waited = 0; waited <= seconds; waited++) {
    await sleep(1000);
    if (usageOf(pid).residentMiB - beforeMiB <= keptMiB) return waited + 1;
  }
  return undefined;
}

async function watchMemory(pid: number, signal: AbortSignal): Promise<number> {
  let peakMiB = 0;
  while (!signal.aborted) {
    try {
      peakMiB = Math.max(peakMiB, usageOf(pid).residentMiB);
    } catch {
      return peakMiB; // The process is gone, which the result shows.
    }
    await sleep(100);
  }
  return peakMiB;
}

/** Claims and limits that did not hold. */
function faultsOf(result: Result): string[] {
  const { holds, health, returnedAfter, isSameProcess } = result;
  const faults: string[] = [];
  if (!holds) faults.push("the claim does not hold");
  if (health.p99Ms > 50) faults.push("healthz is slower than 50 ms at p99");
  if (health.failures > 0) faults.push("healthz failed");
  if (returnedAfter === undefined) faults.push(`memory is not back to within ${keptMiB} MiB`);
  if (!isSameProcess) faults.push("the process restarted");
  return faults;
}

function renderResult(result: Result): string {
  const { name, claim, outcome, health, beforeMiB, peakMiB, afterMiB, returnedAfter } = result;
  const { p50Ms, p99Ms, maxMs, ownP99Ms, failures, lateMs, stolen } = health;
  const faults = faultsOf(result);
  const lines = [
    `${faults.length === 0 ? "held  " : "FAILED"}  ${name}: ${claim}`,
    `        outcome  ${outcome.slice(0, 200)}`,
    `        healthz  p50 ${p50Ms.toFixed(1)}  p99 ${p99Ms.toFixed(1)}  max ${maxMs.toFixed(1)} ms, ${failures} failed`,
    `        machine  ${(100 * stolen).toFixed(0)} % of its time taken by others, healthz without it p99 ${ownP99Ms.toFixed(1)} ms; own timers p99 ${lateMs.toFixed(1)} ms late`,
    `        memory   ${beforeMiB.toFixed(0)} before, ${peakMiB.toFixed(0)} at the peak, ${afterMiB.toFixed(0)} MiB ${returnedAfter ?? "more than 60"} s after`,
  ];
  if (faults.length > 0) lines.push(`        faults   ${faults.join("; ")}`);
  return `${lines.join("\n")}\n`;
}
