/** Kills a server in the middle of a storage migration; this file is also the process that is killed. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { assembleApiServer } from "#cluster/api-server.ts";
import { bootstrapCluster } from "#cluster/bootstrap.ts";
import { systemClock } from "#lib/async/clock.ts";
import { signingKey } from "#lib/crypto/jwt.ts";
import { createKey, keyToPem } from "#lib/crypto/x509.ts";
import { seededRandom } from "#lib/data/random.ts";
import { silentLog } from "#lib/process/log.ts";
import { caBundle } from "#server/admission/webhooks/webhooks.suite.ts";
import { openSqliteStore } from "#store/sqlite.ts";
import { ask, type Loose, type Said } from "#testing/peers/ask.ts";
import { definitionOf, definitions, merge, path, startConverter, versionsStoredIn } from "./conversion.suite.ts";

const objects = 120;
const names = Array.from({ length: objects }, (_, index) => `o${index}`);
const definition = `${definitions}/bricks.example.com`;

if (process.argv[2] === "work") await work(process.argv[3] ?? "");
else test("kill -9 in the middle of a storage migration loses nothing", killRepeatedly);

/** The server on its data, and the webhook of the definition. */
async function start(dataDir: string) {
  const [clock, log] = [systemClock, silentLog];
  const store = await openSqliteStore(dataDir, { clock, log });
  const parts = { store, clock, log, random: seededRandom(1), signingKey: signingKey(keyToPem(createKey())) };
  const api = await assembleApiServer({ ...parts, serverAddress: "127.0.0.1:6443" });
  await bootstrapCluster(api.loopback);
  const webhook = await startConverter();
  const send = (line: string, body?: object, type = "application/json"): Promise<Said> =>
    ask(api.server, line, { ...(body ? { body } : {}), headers: { "content-type": type } });
  const clientConfig = { url: webhook.url("bricks"), caBundle };
  const created = await send(`POST ${definitions}`, definitionOf("bricks", clientConfig));
  if (created.status === 409)
    await send(`PATCH ${definition}`, { spec: { conversion: { webhook: { clientConfig } } } }, merge);
  while ((await send(`GET ${path("bricks", "v1")}`)).status !== 200) await clock.sleep(10);
  return {
    send,
    async storedVersions(): Promise<Set<unknown>> {
      const { entries } = await store.list("/registry/example.com/bricks/");
      return new Set(entries.map(({ value }) => (JSON.parse(Buffer.from(value).toString()) as Loose).apiVersion));
    },
    async [Symbol.asyncDispose]() {
      await webhook[Symbol.asyncDispose]();
      await api[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    },
  };
}

/** Writes every object once, as it is. */
async function migrate({ send }: Awaited<ReturnType<typeof start>>, done: () => void): Promise<void> {
  const next = names.values();
  const worker = async (): Promise<void> => {
    for (const name of next) {
      const { json } = await send(`GET ${path("bricks", "v1")}/${name}`);
      assert.equal((await send(`PUT ${path("bricks", "v1")}/${name}`, json)).status, 200);
      done();
    }
  };
  await Promise.all(Array.from({ length: 8 }, worker));
}

async function work(dataDir: string): Promise<void> {
  await migrate(await start(dataDir), () => process.stdout.write(".\n"));
  // Only the parent ends this process.
  await new Promise(() => setInterval(() => {}, 1000));
}

async function killRepeatedly(): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), "orlop-migration-"));
  try {
    await prepare(dataDir);
    for (const after of [20, 70]) {
      await runAndKill(dataDir, after);
      await using running = await start(dataDir);
      assert.deepEqual(await running.storedVersions(), new Set(["example.com/v1", "example.com/v2"]));
      await check(running);
    }
    await using running = await start(dataDir);
    await migrate(running, () => {});
    assert.deepEqual(await running.storedVersions(), new Set(["example.com/v2"]));
    await check(running);
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function prepare(dataDir: string): Promise<void> {
  await using running = await start(dataDir);
  for (const name of names) {
    await running.send(`POST ${path("bricks", "v1")}`, { metadata: { name }, spec: { endpoint: `${name}:1` } });
  }
  await running.send(`PATCH ${definition}`, { spec: { versions: versionsStoredIn("v2") } }, merge);
}

async function runAndKill(dataDir: string, after: number): Promise<void> {
  const child = spawn(process.execPath, [import.meta.filename, "work", dataDir], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let done = 0;
  for await (const _ of createInterface({ input: child.stdout })) if (++done === after) child.kill("SIGKILL");
  assert.equal(child.signalCode ?? "SIGKILL", "SIGKILL");
}

/** Every object is there, whole, in both versions. */
async function check({ send }: Awaited<ReturnType<typeof start>>): Promise<void> {
  const read = async (version: string) => {
    const { items } = await send(`GET ${path("bricks", version)}`);
    return new Map(items.map(({ metadata, spec }) => [(metadata as Loose).name as unknown, spec]));
  };
  assert.deepEqual(await read("v1"), new Map(names.toSorted().map((name) => [name, { endpoint: `${name}:1` }])));
  assert.deepEqual(await read("v2"), new Map(names.toSorted().map((name) => [name, { host: name, port: "1" }])));
}
