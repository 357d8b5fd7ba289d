import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { seededRandom } from "#lib/data/random.ts";
import { bytes, text } from "./store.suite.ts";
import { type Store, StoreTimeoutError, StoreUnavailableError } from "./store.ts";

const writersPerRound = 48;
const ackLimit = 1000;

interface Ack {
  readonly name: string;
  readonly revision: number;
}

/** In the process that is killed: many writers, each of which prints what was confirmed. */
export async function writeForEver(store: Store, round: string): Promise<void> {
  const writer = async (_: unknown, id: number) => {
    for (let n = 0; ; n++) {
      const name = `${round}-${id}-${n}`;
      const revision = await writeGroup(store, name);
      if (revision) process.stdout.write(`${JSON.stringify({ name, revision } satisfies Ack)}\n`);
    }
  };
  await Promise.all(Array.from({ length: writersPerRound }, writer));
}

/** Adds a group of three keys and sets the writer's counter. undefined if the store may not have done so. */
async function writeGroup(store: Store, name: string): Promise<number | undefined> {
  const [round, id, n = ""] = name.split("-");
  const value = bytes(name.padEnd(200 + ((Number(n) * 977) % 4000), "."));
  const group = [0, 1, 2].map((part) => ({ key: `/group/${name}/${part}`, value, expected: 0 }));
  try {
    const answer = await store.commit([...group, { key: `/counter/${round}-${id}`, value: bytes(n) }]);
    assert(answer.ok, `refused: ${JSON.stringify(answer)}`);
    return answer.revision;
  } catch (error) {
    if (error instanceof StoreUnavailableError || error instanceof StoreTimeoutError) return undefined;
    throw error;
  }
}

export interface CrashSetup {
  readonly rounds: number;
  /** The script and arguments of the writing process, which calls `writeForEver`. */
  readonly writer: (round: number) => readonly string[];
  open(): Promise<Store>;
  /** What else goes wrong while a process writes; it is told when that process is gone. */
  disturb?(random: () => number, over: AbortSignal): Promise<void>;
}

/** Kills the writing process again and again, and checks each time that nothing confirmed is lost. */
export async function killRepeatedly(setup: CrashSetup): Promise<void> {
  const random = seededRandom(42);
  const acks: Ack[] = [];
  let revision = 0;
  for (let round = 0; round < setup.rounds; round++) {
    const over = new AbortController();
    const disturbed = setup.disturb?.(random, over.signal);
    // Few rounds still include an early kill and a late one.
    const moment = (round + random()) / setup.rounds;
    acks.push(...(await runAndKill(setup.writer(round), Math.floor(moment * ackLimit))));
    over.abort();
    await disturbed;
    revision = await check(setup, acks, revision);
  }
  assert(acks.length > 0, "something was confirmed");
}

/** Kills the writer as soon as it has acknowledged this many; what it prints until it is dead counts too. */
async function runAndKill(args: readonly string[], after: number): Promise<Ack[]> {
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const acks: Ack[] = [];
  const ended = new Promise<NodeJS.Signals | null>((resolve) => child.once("close", (_, signal) => resolve(signal)));
  for await (const line of createInterface({ input: child.stdout })) {
    if (acks.length === after) child.kill("SIGKILL");
    // The last line may be incomplete.
    if (line.endsWith("}")) acks.push(JSON.parse(line) as Ack);
  }
  assert.equal(await ended, "SIGKILL", "the writer did not end by itself");
  return acks;
}

async function check({ open }: CrashSetup, acks: readonly Ack[], before: number): Promise<number> {
  await using store = await open();
  assert(store.revision >= Math.max(before, ...acks.map(({ revision }) => revision)), "the revision never goes back");
  for (const { name, revision } of acks) {
    const entry = await store.get(`/group/${name}/0`);
    assert.equal(entry?.revision, revision, `${name} was acknowledged`);
    const [round, id, n] = name.split("-");
    const counter = await store.get(`/counter/${round}-${id}`);
    assert(Number(text(counter?.value)) >= Number(n), "a counter never goes back");
  }

  const groups = new Map<string, Set<number>>();
  const { entries } = await store.list("/group/");
  for (const { key, revision, value } of entries) {
    const name = key.split("/")[2] ?? "";
    assert(text(value)?.startsWith(name), `${key} is whole`);
    groups.set(name, (groups.get(name) ?? new Set()).add(revision));
  }
  assert.equal(entries.length, groups.size * 3, "no partial commit");
  const revisions = [...groups.values()].flatMap((set) => [...set]);
  assert.equal(revisions.length, groups.size, "one revision per commit");
  assert.equal(new Set(revisions).size, groups.size, "no revision twice");
  return store.revision;
}
