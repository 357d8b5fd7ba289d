/** Kills a writing process repeatedly; this file is also the process that is killed. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { systemClock } from "#lib/async/clock.ts";
import { seededRandom } from "#lib/data/random.ts";
import { silentLog } from "#lib/process/log.ts";
import { openSqliteStore } from "./sqlite.ts";
import { bytes, commit, text } from "./store.suite.ts";

const rounds = 20;
const writersPerRound = 48;
const ackLimit = 1000;
const options = { clock: systemClock, log: silentLog };

interface Ack {
  readonly name: string;
  readonly revision: number;
}

if (process.argv[2] === "write") await write(process.argv[3] ?? "", process.argv[4] ?? "");
else test("kill -9 at any moment loses no acknowledged commit and leaves no partial one", killRepeatedly);

/** Every writer adds groups of three keys and increments its own counter, and prints each one when it is durable. */
async function write(dataDir: string, round: string): Promise<void> {
  const store = await openSqliteStore(dataDir, options);
  const writer = async (_: unknown, id: number) => {
    for (let n = 0; ; n++) {
      const name = `${round}-${id}-${n}`;
      const value = bytes(name.padEnd(200 + ((n * 977) % 4000), "."));
      const group = [0, 1, 2].map((part) => ({ key: `/group/${name}/${part}`, value, expected: 0 }));
      const revision = await commit(store, [...group, { key: `/counter/${round}-${id}`, value: bytes(String(n)) }]);
      process.stdout.write(`${JSON.stringify({ name, revision } satisfies Ack)}\n`);
    }
  };
  await Promise.all(Array.from({ length: writersPerRound }, writer));
}

async function killRepeatedly(): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), "orlop-crash-"));
  const random = seededRandom(42);
  const acks: Ack[] = [];
  let revision = 0;
  try {
    for (let round = 0; round < rounds; round++) {
      acks.push(...(await runAndKill(dataDir, round, Math.floor(random() * ackLimit))));
      revision = await check(dataDir, acks, revision);
    }
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** Kills the writer as soon as it has acknowledged this many; what it prints until it is dead counts too. */
async function runAndKill(dataDir: string, round: number, after: number): Promise<Ack[]> {
  const child = spawn(process.execPath, [import.meta.filename, "write", dataDir, String(round)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const acks: Ack[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    if (acks.length === after) child.kill("SIGKILL");
    // The last line may be incomplete.
    if (line.endsWith("}")) acks.push(JSON.parse(line) as Ack);
  }
  assert.equal(child.signalCode ?? "SIGKILL", "SIGKILL");
  return acks;
}

async function check(dataDir: string, acks: readonly Ack[], before: number): Promise<number> {
  await using store = await openSqliteStore(dataDir, options);
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
