/** Measures how fast a large Deployment becomes pods, follows their status, and is deleted, in one process without a disk. */
import { Deployment } from "#api/apps/deployment.ts";
import { Pod } from "#api/core/pod.ts";
import { assembleApiServer } from "#cluster/api-server.ts";
import { bootstrapCluster } from "#cluster/bootstrap.ts";
import { controllerUser } from "#cluster/identities.ts";
import { runControllers } from "#controllers/all.ts";
import { systemClock as clock } from "#lib/async/clock.ts";
import { signingKey } from "#lib/crypto/jwt.ts";
import { createKey, keyToPem } from "#lib/crypto/x509.ts";
import { systemRandom as random } from "#lib/data/random.ts";
import { jsonLog } from "#lib/process/log.ts";
import { openMemoryStore } from "#store/memory.ts";

const replicas = Number(process.argv[2] ?? 2000);
const log = jsonLog((line) => process.stderr.write(line), "warn");
const store = openMemoryStore({ clock });
const key = signingKey(keyToPem(createKey()));
const api = await assembleApiServer({ store, clock, log, random, signingKey: key, serverAddress: "127.0.0.1:6443" });
await bootstrapCluster(api.loopback);
const client = api.loopback;
const clientFor = (account: string) => api.clientFor(controllerUser(account));
const { informers, recorder } = api;
const stop = new AbortController();
const running = runControllers({ informers, clock, log, recorder, clientFor, rootCa: "certificate" }, stop.signal);
await clock.sleep(500);

const pods = informers.of(Pod);
const metadata = { name: "web", namespace: "default" };
const labels = { app: "web" };
const deployment = {
  metadata,
  spec: {
    replicas,
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [{ name: "web", image: "web:1" }] } },
  },
};

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await clock.sleep(2);
}

async function measure(what: string, action: () => Promise<void>): Promise<void> {
  const start = performance.now();
  const before = process.cpuUsage();
  await action();
  const ms = performance.now() - start;
  const { user, system } = process.cpuUsage(before);
  const rate = Math.round((replicas / ms) * 1000);
  console.log(`${what.padEnd(24)} ${Math.round(ms)} ms, CPU ${Math.round((user + system) / 1000)} ms, ${rate} pods/s`);
}

for (const round of [1, 2]) {
  console.log(`round ${round}: ${replicas} pods`);
  await measure("created", async () => {
    await client.create(Deployment, deployment);
    await until(() => pods.list("default").length >= replicas);
  });
  await measure("ready, counted", async () => {
    const lastTransitionTime = "2026-01-01T08:00:00Z";
    const conditions = [{ type: "Ready", status: "True" as const, lastTransitionTime }];
    for (const pod of pods.list("default")) {
      await client.updateStatus(Pod, { ...pod, status: { ...pod.status, phase: "Running", conditions } });
    }
    const deployments = informers.of(Deployment);
    await until(() => deployments.get(metadata)?.status.availableReplicas === replicas);
  });
  await measure("deleted", async () => {
    await client.delete(Deployment, metadata);
    await until(() => pods.list("default").length === 0);
  });
}
stop.abort(new Error("done"));
await running;
await api[Symbol.asyncDispose]();
await store[Symbol.asyncDispose]();
