/**
 * `npm run bench -- fairness`: renews the lease of a node while many clients hammer lists and a flood of anonymous requests
 * comes in. The renewals must stay below 100 ms at p99, as measured. Two figures beside it tell what a busy machine adds: the
 * p99 without the time that the server and this process waited for a processor, and how long a server that does nothing takes.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import http2 from "node:http2";
import { getPriority, setPriority } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { tempDir } from "./boot.ts";
import { Connections, json } from "./lib/connections.ts";
import { inFlight } from "./lib/in-flight.ts";
import { pod } from "./lib/objects.ts";
import { fillCompileCache, type ServerProcess, startServer } from "./lib/server-process.ts";
import { usageOf } from "./lib/usage.ts";
import { type FloodOptions, type FloodState } from "./load/flood.ts";

const limitMs = 100;
const nodeName = "bench";
const leasePath = `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${nodeName}`;

export async function runFairness(args: readonly string[]): Promise<void> {
  const { values: flags } = parseArgs({
    args: [...args],
    options: {
      clients: { type: "string", default: "1000" },
      strangers: { type: "string", default: "100" },
      "per-connection": { type: "string", default: "5" },
      knockers: { type: "string", default: "0" },
      pods: { type: "string", default: "500" },
      seconds: { type: "string", default: "20" },
      "every-ms": { type: "string", default: "20" },
      unfair: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
    },
  });
  await fillCompileCache();
  using dir = tempDir();
  const tokens = Array.from({ length: Number(flags.clients) }, (_, n) => `client-${n}`);
  const file = path.join(dir.path, "tokens.csv");
  writeFileSync(file, tokenLines(tokens));
  const unfair = ["--enable-priority-and-fairness=false", "--max-requests-inflight", "0"];
  await using server = await startServer(dir.path, ["--token-auth-file", file, ...(flags.unfair ? unfair : [])]);
  await prepare(server, Number(flags.pods));
  const everyMs = Number(flags["every-ms"]);
  const target = { url: server.url, ca: server.tls.ca, pid: server.pid };
  const quiet = await renewFor(target, { seconds: Math.min(5, Number(flags.seconds)), everyMs });
  using nothing = await startNothing();
  const flooded = await underFlood(server, {
    tokens,
    strangers: Number(flags.strangers),
    perConnection: Number(flags["per-connection"]),
    knockers: Number(flags.knockers),
    run: async () => {
      const seconds = Number(flags.seconds);
      const renewals = await renewFor(target, { seconds, everyMs });
      return { renewals, floor: await renewFor(nothing, { seconds: Math.min(5, seconds), everyMs }) };
    },
  });
  const report = { clients: tokens.length, pods: Number(flags.pods), limitMs, quiet, ...flooded };
  process.stdout.write(flags.json ? `${JSON.stringify(report, undefined, 2)}\n` : render(report));
  if (flooded.renewals.p99Ms > limitMs || flooded.renewals.failures > 0) process.exitCode = 1;
}

const nodeToken = "the-node";
const tokenLines = (tokens: readonly string[]): string =>
  [
    ...tokens.map((token) => `${token},${token},${token},readers`),
    `${nodeToken},system:node:${nodeName},n,system:nodes`,
  ].join("\n");

async function prepare(server: ServerProcess, pods: number): Promise<void> {
  using admin = new Connections(server, 2);
  const create = (where: string, body: object) => admin.call({ method: "POST", path: where, body: json(body) });
  await create("/api/v1/namespaces", { metadata: { name: "bench" } });
  await create("/api/v1/nodes", { metadata: { name: nodeName } });
  const lease = { metadata: { name: nodeName }, spec: { holderIdentity: nodeName, leaseDurationSeconds: 40 } };
  await create(path.posix.dirname(leasePath), lease);
  const rbac = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" };
  const subjects = [{ kind: "Group", apiGroup: "rbac.authorization.k8s.io", name: "readers" }];
  await create(rbac, { metadata: { name: "readers" }, roleRef, subjects });
  await sleep(500); // The service account that pods need.
  await inFlight({ count: pods, width: 32 }, (n) =>
    create("/api/v1/namespaces/bench/pods", pod(`pod-${n}`, { schedulerName: "nobody" })),
  );
}

interface Renewals {
  readonly count: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  readonly failures: number;
  /** p99Ms without the time that this process and the server waited for a processor. It is shown, but not judged. */
  readonly ownP99Ms: number;
}

interface Renewed {
  readonly url: string;
  readonly ca?: string;
  readonly pid: number;
}

/** The server that does nothing, in a process of its own. */
async function startNothing(): Promise<Renewed & Disposable> {
  const child = fork(path.join(import.meta.dirname, "load/nothing-process.ts"), { execArgv: process.execArgv });
  const [url] = (await once(child, "message")) as [string];
  return { url, pid: child.pid ?? 0, [Symbol.dispose]: () => void child.kill("SIGKILL") };
}

/** Renews the lease as a kubelet does, but more often. */
async function renewFor(
  { url, ca, pid }: Renewed,
  { seconds, everyMs }: { readonly seconds: number; readonly everyMs: number },
): Promise<Renewals> {
  const session = http2.connect(url, ca ? { ca } : {});
  const times: number[] = [];
  const ownTimes: number[] = [];
  let failures = 0;
  let lease = JSON.parse((await send(session, "GET")).body) as { spec: object };
  const end = performance.now() + seconds * 1000;
  while (performance.now() < end) {
    const waited = waitedMs(pid);
    const start = performance.now();
    const renewed = { ...lease, spec: { ...lease.spec, renewTime: new Date().toISOString().replace("Z", "000Z") } };
    const { status, body } = await send(session, "PUT", JSON.stringify(renewed));
    const ms = performance.now() - start;
    times.push(ms);
    ownTimes.push(Math.max(0, ms - (waitedMs(pid) - waited)));
    if (status === 200) lease = JSON.parse(body) as typeof lease;
    else failures++;
    await sleep(everyMs);
  }
  session.destroy();
  const [p50Ms, p99Ms, maxMs] = [at(times, 0.5), at(times, 0.99), at(times, 1)];
  return { count: times.length, p50Ms, p99Ms, maxMs, failures, ownP99Ms: at(ownTimes, 0.99) };
}

/** How long the main threads of the server and of this process were ready to run but did not get a processor. */
const waitedMs = (server: number): number => [server, process.pid].reduce((sum, pid) => sum + queuedMs(pid), 0);
function queuedMs(pid: number): number {
  const [, ns = "0"] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "utf8").split(" ");
  return Number(ns) / 1e6;
}

const at = (times: readonly number[], share: number): number =>
  times.toSorted((a, b) => a - b)[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0;

function send(session: http2.ClientHttp2Session, method: string, body?: string) {
  const headers = { ":method": method, ":path": leasePath, authorization: `Bearer ${nodeToken}` };
  const stream = session.request(
    { ...headers, ...(body ? { "content-type": "application/json" } : {}) },
    { endStream: !body },
  );
  stream.end(body);
  return new Promise<{ status: number; body: string }>((resolve, reject) => {
    let status = 0;
    let text = "";
    stream.setEncoding("utf8");
    stream.on("response", (answer) => (status = answer[":status"] ?? 0));
    stream.on("data", (chunk: string) => (text += chunk));
    stream.on("end", () => resolve({ status, body: text }));
    stream.on("error", reject);
  });
}

interface Flooded {
  readonly renewals: Renewals;
  /** The same, sent to the server that does nothing. */
  readonly floor: Renewals;
  /** Answers to the clients per second, by status. */
  readonly perSecond: FloodState["counts"];
  /** Share of one processor that the server used. */
  readonly serverCpu: number;
}

async function underFlood(
  { url, tls, pid }: ServerProcess,
  {
    run,
    ...flood
  }: Omit<FloodOptions, "url" | "ca" | "path"> & {
    run(): Promise<Pick<Flooded, "renewals" | "floor">>;
  },
): Promise<Flooded> {
  const clients = fork(path.join(import.meta.dirname, "load/flood-process.ts"), { execArgv: process.execArgv });
  // On a small machine the clients would take the server's processor, and that is not what is measured.
  if (clients.pid) setPriority(clients.pid, Math.min(getPriority() + 5, 19));
  let state: FloodState = { isConnected: false, counts: {} };
  clients.on("message", (latest: FloodState) => (state = latest));
  const options: FloodOptions = { url, ca: tls.ca, path: "/api/v1/namespaces/bench/pods", ...flood };
  clients.send(options);
  try {
    while (!state.isConnected) await sleep(100);
    await sleep(1000);
    const before = { counts: state.counts, ms: performance.now(), ...usageOf(pid) };
    const measured = await run();
    const seconds = (performance.now() - before.ms) / 1000;
    const perSecond = Object.fromEntries(
      Object.entries(state.counts).map(([status, count]) => [status, (count - (before.counts[status] ?? 0)) / seconds]),
    );
    return { ...measured, perSecond, serverCpu: (usageOf(pid).cpuMs - before.cpuMs) / 1000 / seconds };
  } finally {
    clients.kill("SIGKILL");
  }
}

function render({
  clients,
  pods,
  quiet,
  renewals,
  floor,
  perSecond,
  serverCpu,
}: Flooded & { clients: number; pods: number; quiet: Renewals }): string {
  const row = (name: string, { count, p50Ms, p99Ms, maxMs, failures, ownP99Ms }: Renewals): string =>
    [
      name.padEnd(12),
      ...[count, failures, p50Ms, p99Ms, maxMs, ownP99Ms].map((value) => `${Math.round(value * 10) / 10}`.padStart(10)),
    ].join("");
  const answers = Object.entries(perSecond).map(([status, rate]) => `${status}: ${rate.toFixed(0)}/s`);
  return [
    `Renewals of a lease, in milliseconds; the limit is ${limitMs} at p99`,
    ["".padEnd(12), ...["count", "failed", "p50", "p99", "max", "own p99"].map((head) => head.padStart(10))].join(""),
    row("alone", quiet),
    row("flooded", renewals),
    row("floor", floor),
    `${clients} clients that list ${pods} pods got ${answers.join(", ")}; the server used ${(serverCpu * 100).toFixed(0)}% of a processor`,
    "",
  ].join("\n");
}
