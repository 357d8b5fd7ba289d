/** Kills a server that creates and deletes under a quota; this file is also the process that is killed. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { allResources } from "#api/all.ts";
import { ConfigMap } from "#api/core/config-map.ts";
import { Namespace } from "#api/core/namespace.ts";
import { ResourceQuota } from "#api/core/resource-quota.ts";
import { type AssembledServer, assembleApiServer } from "#cluster/api-server.ts";
import { bootstrapCluster } from "#cluster/bootstrap.ts";
import { controllerUser } from "#cluster/identities.ts";
import { type Clock, systemClock } from "#lib/async/clock.ts";
import { signingKey } from "#lib/crypto/jwt.ts";
import { createKey, keyToPem } from "#lib/crypto/x509.ts";
import { seededRandom } from "#lib/data/random.ts";
import { silentLog } from "#lib/process/log.ts";
import { fixedKinds } from "#runtime/kinds.ts";
import { runReconcilers } from "#runtime/run-reconciler.ts";
import { openSqliteStore } from "#store/sqlite.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { resourceQuotaController } from "./resource-quota.ts";

const rounds = 2;
const workers = 40;
const most = 30;
const namespace = "shop";
const quotaRef = { namespace, name: "few" };

if (process.argv[2] === "work") await work(process.argv[3] ?? "", Number(process.argv[4]));
else test("a quota is not exceeded and is exact again after kill -9 between any two writes", killRepeatedly);

interface Running extends AsyncDisposable {
  readonly api: AssembledServer;
}

/** The server on its data, with the controller of quotas. */
async function start(dataDir: string, clock: Clock): Promise<Running> {
  const log = silentLog;
  const store = await openSqliteStore(dataDir, { clock, log });
  const random = seededRandom(1);
  const parts = { store, clock, log, random, signingKey: signingKey(keyToPem(createKey())) };
  const api = await assembleApiServer({ ...parts, serverAddress: "127.0.0.1:6443" });
  await bootstrapCluster(api.loopback);
  const stop = new AbortController();
  const client = api.clientFor(controllerUser("resourcequota-controller"));
  const deps = { clock, log, informers: api.informers, client };
  const running = runReconcilers([resourceQuotaController(fixedKinds(allResources))], deps, stop.signal);
  return {
    api,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
      await api[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    },
  };
}

/** Creates and deletes for ever, and prints a line for each. */
async function work(dataDir: string, seed: number): Promise<void> {
  const { api } = await start(dataDir, systemClock);
  const { loopback: client } = api;
  const random = seededRandom(seed);
  const worker = async (_: unknown, id: number): Promise<void> => {
    for (;;) {
      const metadata = { namespace, name: `m-${id}-${Math.floor(random() * 3)}` };
      const task = random() < 0.6 ? client.create(ConfigMap, { metadata }) : client.delete(ConfigMap, metadata);
      await task.catch(() => undefined);
      process.stdout.write(".\n");
    }
  };
  await Promise.all(Array.from({ length: workers }, worker));
}

async function killRepeatedly(): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), "orlop-quota-"));
  const random = seededRandom(7);
  try {
    await prepare(dataDir);
    for (let round = 0; round < rounds; round++) {
      await runAndKill(dataDir, round, 200 + Math.floor(random() * 800));
      await check(dataDir);
    }
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function prepare(dataDir: string): Promise<void> {
  await using running = await start(dataDir, systemClock);
  const { loopback: client, informers } = running.api;
  await client.create(Namespace, { metadata: { name: namespace } });
  await client.create(ResourceQuota, { metadata: quotaRef, spec: { hard: { configmaps: String(most) } } });
  await until(() => informers.of(ResourceQuota).get(quotaRef)?.status.used !== undefined);
}

async function runAndKill(dataDir: string, round: number, after: number): Promise<void> {
  const child = spawn(process.execPath, [import.meta.filename, "work", dataDir, String(round)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let done = 0;
  for await (const _ of createInterface({ input: child.stdout })) if (++done === after) child.kill("SIGKILL");
  assert.equal(child.signalCode ?? "SIGKILL", "SIGKILL");
}

async function check(dataDir: string): Promise<void> {
  const clock = createVirtualClock();
  await using running = await start(dataDir, clock);
  const { informers } = running.api;
  await Promise.all([informers.of(ConfigMap).synced(), informers.of(ResourceQuota).synced()]);
  const there = informers.of(ConfigMap).list(namespace).length;
  const used = (): number => Number(informers.of(ResourceQuota).get(quotaRef)?.status.used?.configmaps);
  assert(there > 0 && there <= most, `${there} objects`);
  assert(used() >= there, `${there} objects, but ${used()} used: charged after the write`);
  await until(
    () => used() === there,
    () => clock.advance(1000),
  );
}

/** The disk does not follow the virtual clock. */
async function until(condition: () => boolean, pass?: () => Promise<void>): Promise<void> {
  for (let attempt = 0; !condition(); attempt++) {
    assert(attempt < 6000, "it never came true");
    await systemClock.sleep(10);
    await pass?.();
  }
}
