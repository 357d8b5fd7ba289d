import assert from "node:assert/strict";
import { cpSync, rmSync } from "node:fs";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { seededRandom } from "#lib/data/random.ts";
import { type EtcdCluster, startEtcd } from "#testing/peers/etcd.ts";
import { Connection, type Reply } from "./connection.ts";
import { makeTempDir, type RunningServer, startServer } from "./server.ts";

export interface KillOptions {
  readonly members: number;
  readonly writers: number;
  readonly seconds: number;
  say?(text: string): void;
}

export interface KillReport {
  acknowledged: number;
  /** Refused with certainty, for example without a majority. */
  refused: number;
  /** Without a clear answer. */
  unknown: number;
  serverKills: number;
  memberKills: number;
  objects: number;
}

const configMaps = "/api/v1/namespaces/default/configmaps";
const connectionsEach = 4;

/** The only writer of its name, so it knows which states are possible. */
interface Writer {
  readonly name: string;
  text: string | undefined;
  /** Of the acknowledged state; undefined if that must be read first. */
  revision: string | undefined;
  /** Writes without a clear answer since then: each may have been made, at the latest until the next one is acknowledged. */
  readonly maybe: Set<string>;
  count: number;
}

/** Two API servers on one etcd. Both, and etcd's members, are killed and started again while many writers write. */
export async function killEverything(options: KillOptions): Promise<KillReport> {
  const random = seededRandom(7);
  await using etcd = await startEtcd({ members: options.members });
  await using servers = await startServers(etcd);
  const report: KillReport = { acknowledged: 0, refused: 0, unknown: 0, serverKills: 0, memberKills: 0, objects: 0 };
  const writers = Array.from({ length: options.writers }, (_, n): Writer => {
    return { name: `w-${n}`, text: undefined, revision: undefined, maybe: new Set(), count: 0 };
  });
  const revisions = new Set<string>();
  const over = new AbortController();
  const writing = writers.map((writer) => write(writer, { servers, random, report, revisions, over: over.signal }));
  await killFor(options, { etcd, servers, random, report, say: options.say });
  over.abort();
  await Promise.all(writing);
  report.objects = await compare(servers, writers);
  return report;
}

/** The servers by number; undefined while one is away. */
interface Servers extends AsyncDisposable {
  readonly connections: (readonly Connection[] | undefined)[];
  kill(n: number): Promise<void>;
  start(n: number): Promise<void>;
}

async function startServers(etcd: EtcdCluster): Promise<Servers> {
  const directories = [makeTempDir(), makeTempDir()];
  const running: (RunningServer | undefined)[] = [];
  const connections: (readonly Connection[] | undefined)[] = [];
  const start = async (n: number): Promise<void> => {
    const args = ["--etcd-servers", etcd.endpoints.join(",")];
    for (;;) {
      try {
        const server = await startServer({ dataDir: directories[n] ?? "", args });
        running[n] = server;
        connections[n] = Array.from({ length: connectionsEach }, () => new Connection(server));
        return;
      } catch (error) {
        // A server does not start while etcd has no majority, and says so.
        if (!/orlop: [^\n]*etcd/.test(String(error))) throw error;
      }
    }
  };
  const kill = async (n: number): Promise<void> => {
    for (const connection of connections[n] ?? []) await connection[Symbol.asyncDispose]();
    connections[n] = undefined;
    await running[n]?.end("SIGKILL");
  };
  await start(0);
  cpSync(path.join(directories[0] ?? "", "pki"), path.join(directories[1] ?? "", "pki"), { recursive: true });
  await start(1);
  return {
    connections,
    kill,
    start,
    async [Symbol.asyncDispose]() {
      await Promise.all([kill(0), kill(1)]);
      for (const directory of directories) rmSync(directory, { recursive: true, force: true });
    },
  };
}

interface Killing {
  readonly etcd: EtcdCluster;
  readonly servers: Servers;
  readonly random: () => number;
  readonly report: KillReport;
  readonly say: KillOptions["say"];
}

/** One server and one member at a time, so that there is mostly a majority; a member's kill may be the leader's. */
async function killFor({ seconds, writers }: KillOptions, killing: Killing): Promise<void> {
  const { etcd, servers, random, report, say } = killing;
  const until = Date.now() + seconds * 1000;
  // On a slow machine it takes longer until the writers have something to lose.
  const isOver = (): boolean => Date.now() >= until && report.acknowledged > writers;
  const loop = async (kill: () => Promise<() => Promise<void>>, betweenMs: number): Promise<void> => {
    while (!isOver()) {
      await pause(Math.min(betweenMs * (0.5 + random()), Math.max(0, until - Date.now())));
      const bringBack = await kill();
      await pause(1000 * random());
      await bringBack();
    }
  };
  const killServer = async () => {
    const n = Math.floor(random() * 2);
    report.serverKills++;
    await servers.kill(n);
    return () => servers.start(n);
  };
  const killMember = async () => {
    const n = Math.floor(random() * etcd.size);
    report.memberKills++;
    await etcd.kill(n);
    return async () => {
      etcd.start(n);
      await etcd.ready();
      say?.(`${JSON.stringify(report)}\n`);
    };
  };
  await Promise.all([loop(killServer, 4000), loop(killMember, 5000)]);
}

interface Writing {
  readonly servers: Servers;
  readonly random: () => number;
  readonly report: KillReport;
  readonly revisions: Set<string>;
  readonly over: AbortSignal;
}

async function write(writer: Writer, { servers, random, report, revisions, over }: Writing): Promise<void> {
  while (!over.aborted) {
    const connection = servers.connections[Math.floor(random() * 2)]?.[Math.floor(random() * connectionsEach)];
    const outcome = connection ? await writeOnce(connection, writer) : "refused";
    report[outcome]++;
    if (outcome === "acknowledged") {
      const { revision = "" } = writer;
      assert(!revisions.has(revision), `revision ${revision} was used twice`);
      revisions.add(revision);
    } else await pause(200 + 300 * random());
  }
}

/** Reads its state if that is unknown, and makes the next one from exactly that. */
async function writeOnce(connection: Connection, writer: Writer): Promise<"acknowledged" | "refused" | "unknown"> {
  if (writer.maybe.size > 0 && !(await settle(connection, writer))) return "unknown";
  const { name, revision } = writer;
  const text = `${name} ${writer.count++}`;
  const metadata = revision === undefined ? { name } : { name, resourceVersion: revision };
  const body = JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata, data: { text } });
  writer.maybe.add(text);
  const reply =
    revision === undefined
      ? await connection.ask("POST", configMaps, body)
      : await connection.ask("PUT", `${configMaps}/${name}`, body);
  const done = reply && stateOf(reply);
  if (done && reply.status < 300) {
    assert.equal(done.text, text);
    Object.assign(writer, done);
    writer.maybe.clear();
    return "acknowledged";
  }
  if (reply && (reply.status === 503 || reply.status === 429)) {
    writer.maybe.delete(text);
    return "refused";
  }
  // A server that is killed in the middle of its answer has sent a status without a body.
  const isPossible = reply === undefined || !done || reply.status >= 500 || reply.status === 409;
  assert(isPossible, `unexpected answer ${reply?.status} ${reply?.body}`);
  // Only a write that was made without our knowing can be in the way.
  if (reply?.status === 409) assert(writer.maybe.size > 1, `${name} conflicts with nobody: ${reply.body}`);
  return "unknown";
}

/** False if the state cannot be read now. It must be the acknowledged one or one of those without an answer. */
async function settle(connection: Connection, writer: Writer): Promise<boolean> {
  const reply = await connection.ask("GET", `${configMaps}/${writer.name}`);
  if (!reply || (reply.status !== 200 && reply.status !== 404)) return false;
  if (reply.status === 404 && reply.body === "") return false;
  if (reply.status === 404) {
    assert.equal(writer.text, undefined, `${writer.name} is gone`);
    return true;
  }
  const found = stateOf(reply);
  if (!found) return false;
  assertPossible(writer, found.text);
  Object.assign(writer, found);
  return true;
}

function assertPossible({ name, text, maybe }: Writer, found: string | undefined): void {
  assert(found === text || maybe.has(found ?? ""), `${name} is ${found}, but ${text} was acknowledged`);
}

interface Stored {
  readonly metadata: { readonly name: string; readonly resourceVersion: string };
  readonly data?: { readonly text: string };
}

/** Undefined if the server was killed in the middle of its answer. */
function stateOf({ body }: Reply): { text: string | undefined; revision: string } | undefined {
  try {
    const { metadata, data } = JSON.parse(body) as Stored;
    return { text: data?.text, revision: metadata.resourceVersion };
  } catch {
    return undefined;
  }
}

/** Both servers show the same objects, and every writer's is as it must be. Returns how many there are. */
async function compare(servers: Servers, writers: readonly Writer[]): Promise<number> {
  const [first = [], second = []] = await Promise.all([listOf(servers, 0), listOf(servers, 1)]);
  assert.deepEqual(first, second, "the servers show different objects");
  const found = new Map(first.map(({ metadata, data }) => [metadata.name, data?.text]));
  for (const writer of writers) assertPossible(writer, found.get(writer.name));
  return first.length;
}

async function listOf(servers: Servers, n: number): Promise<readonly Stored[]> {
  for (;;) {
    const reply = await servers.connections[n]?.[0]?.ask("GET", configMaps);
    if (reply?.status === 200) return (JSON.parse(reply.body) as { items: readonly Stored[] }).items;
    await pause(200);
  }
}
