import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { test } from "node:test";
import { seededRandom } from "#lib/data/random.ts";
import { Connection } from "./support/connection.ts";
import { makeTempDir, type RunningServer, startServer } from "./support/server.ts";

/** `ROUNDS=20` kills more often. */
const rounds = Number(process.env.ROUNDS ?? 5);
const writesPerRound = 10_000;
const writersPerRound = 2000;
const connectionsPerRound = 8;
const configMaps = "/api/v1/namespaces/default/configmaps";

/** The content under one name: nothing, or a text. */
type State = string | undefined;

/** The only writer of its name, so it knows which answers are possible after a kill. */
interface Writer {
  readonly name: string;
  acknowledged: State;
  /** The revision of the acknowledged write; unknown after a write without an answer. */
  revision: number | undefined;
  /** A write without an answer: it must be stored completely or not at all. */
  pending: { readonly state: State } | undefined;
}

test("kill -9 during 10,000 concurrent writes, again and again, loses nothing that was acknowledged", async () => {
  const dataDir = makeTempDir();
  const random = seededRandom(11);
  const writers = Array.from({ length: writersPerRound }, (_, n): Writer => {
    return { name: `w-${n}`, acknowledged: undefined, revision: undefined, pending: undefined };
  });
  let highest = 0;
  try {
    for (let round = 0; round < rounds; round++) {
      await using server = await startServer({ dataDir });
      highest = await assertKept(server, writers, highest);
      // Few rounds still include an early kill and a late one.
      const moment = ((round + random()) / rounds) * 0.95;
      const done = await writeUntilKilled(server, writers, Math.ceil(moment * writesPerRound));
      highest = Math.max(highest, ...writers.map(({ revision = 0 }) => revision));
      assert(done < writesPerRound, "the server should have died before the last write");
    }
    await using server = await startServer({ dataDir });
    await assertKept(server, writers, highest);
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
});

/** Starts all writes of the round, and kills the server after `killAfter` acknowledgements. Returns how many there were. */
async function writeUntilKilled(server: RunningServer, writers: Writer[], killAfter: number): Promise<number> {
  const connections = Array.from({ length: connectionsPerRound }, () => new Connection(server));
  let acknowledged = 0;
  const write = async (writer: Writer, index: number): Promise<void> => {
    const connection = connections[index % connectionsPerRound];
    assert(connection);
    for (let n = 0; n < writesPerRound / writersPerRound; n++) {
      if (!(await writeNext(connection, writer, n))) return;
      if (++acknowledged === killAfter) process.kill(server.pid, "SIGKILL");
    }
  };
  await Promise.all(writers.map(write));
  for (const connection of connections) await connection[Symbol.asyncDispose]();
  assert.equal((await server.end("SIGKILL")).signal, "SIGKILL");
  return acknowledged;
}

/** Creates a missing object, and updates or deletes an existing one. False if no answer came. */
async function writeNext(connection: Connection, writer: Writer, n: number): Promise<boolean> {
  const { name, acknowledged: before, revision = 0 } = writer;
  const deletes = before !== undefined && n % 4 === 3;
  const state: State = deletes ? undefined : `${name} after ${revision} ${n} ${"x".repeat((n * 397) % 1500)}`;
  const body = JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { text: state } });
  const one = `${configMaps}/${name}`;
  writer.pending = { state };
  const reply =
    before === undefined
      ? await connection.ask("POST", configMaps, body)
      : await (deletes ? connection.ask("DELETE", one) : connection.ask("PUT", one, body));
  if (!reply || (!deletes && stored(reply.body) === undefined)) return false;
  assert(reply.status < 300, `${reply.status} ${reply.body}`);
  writer.acknowledged = state;
  writer.revision = deletes ? undefined : stored(reply.body)?.revision;
  writer.pending = undefined;
  return true;
}

interface ConfigMapText {
  readonly metadata: { readonly name: string; readonly resourceVersion: string };
  readonly data?: { readonly text: string };
}

/** Undefined if the server was killed in the middle of its answer. */
function stored(body: string): { revision: number } | undefined {
  try {
    return { revision: Number((JSON.parse(body) as ConfigMapText).metadata.resourceVersion) };
  } catch {
    return undefined;
  }
}

/** Every name holds what was acknowledged, or the one write without an answer, and nothing else. */
async function assertKept(server: RunningServer, writers: Writer[], highest: number): Promise<number> {
  await using connection = new Connection(server);
  const { body } = await connection.sure("GET", configMaps);
  const list = JSON.parse(body) as ConfigMapText & { items: ConfigMapText[] };
  const found = new Map(list.items.map((item) => [item.metadata.name, item]));
  for (const writer of writers) {
    const item = found.get(writer.name);
    const text = item?.data?.text;
    if (writer.pending && text === writer.pending.state && text !== writer.acknowledged) {
      Object.assign(writer, { acknowledged: text, revision: undefined });
    }
    writer.pending = undefined;
    assert.equal(text, writer.acknowledged, `${writer.name} is not as acknowledged at ${writer.revision}`);
    const revision = item && Number(item.metadata.resourceVersion);
    if (writer.revision !== undefined) assert.equal(revision, writer.revision, `${writer.name} has moved`);
    writer.revision = revision;
  }
  const revision = Number(list.metadata.resourceVersion);
  assert(revision >= highest, `the revision went back from ${highest} to ${revision}`);
  return revision;
}
