import assert from "node:assert/strict";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { createServer } from "node:https";
import { type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { systemClock } from "#lib/async/clock.ts";
import { createAuthority, createCertificate } from "#lib/crypto/x509.ts";
import { systemRandom } from "#lib/data/random.ts";
import { silentLog } from "#lib/process/log.ts";
import { BatchedBackend } from "./batches.ts";
import { type AuditEvent } from "./event.ts";
import { openAuditWebhook } from "./webhook-writer.ts";

const event = (n: number): AuditEvent => ({
  stage: "ResponseComplete",
  rest: `"n":${n}}`,
  legacy: () => "",
  withoutBodies: () => event(n),
});
const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** A server that answers as it is told, and the bodies that it got. */
async function startReceiver(statusOf: (attempt: number) => number) {
  const validity = { notBeforeMs: systemClock.now() - 60_000, notAfterMs: systemClock.now() + 3_600_000 };
  const authority = createAuthority({ subject: { commonName: "receivers" }, ...validity });
  const subject = { commonName: "receiver" };
  const serving = createCertificate(authority, { subject, use: "server", hosts: ["127.0.0.1"], ...validity });
  const bodies: string[] = [];
  const server = createServer({ key: serving.key, cert: serving.certificate }, (request, response) => {
    let body = "";
    request.on("data", (chunk) => (body += String(chunk)));
    request.on("end", () => {
      bodies.push(body);
      response.writeHead(statusOf(bodies.length)).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const dir = await mkdtempDisposable(path.join(tmpdir(), "audit-webhook-"));
  const file = path.join(dir.path, "kubeconfig");
  const cluster = {
    server: `https://127.0.0.1:${port}/audit`,
    "certificate-authority-data": base64(authority.certificate),
  };
  const config = {
    ...{ apiVersion: "v1", kind: "Config", "current-context": "a", users: [{ name: "a", user: {} }] },
    clusters: [{ name: "a", cluster }],
    contexts: [{ name: "a", context: { cluster: "a", user: "a" } }],
  };
  await writeFile(file, JSON.stringify(config));
  return {
    bodies,
    file,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await dir.remove();
    },
  };
}

const deps = { clock: systemClock, random: systemRandom };

test("events are posted as an EventList, and again if the server asks for it", async () => {
  await using receiver = await startReceiver((attempt) => (attempt === 1 ? 500 : 200));
  await using writer = await openAuditWebhook({ file: receiver.file, initialBackoffMs: 1 }, deps);

  await writer.write([event(1), event(2)]);

  assert.equal(receiver.bodies.length, 2);
  assert.deepEqual(JSON.parse(receiver.bodies[1] ?? ""), {
    kind: "EventList",
    apiVersion: "audit.k8s.io/v1",
    metadata: {},
    items: [{ n: 1 }, { n: 2 }],
  });
});

test("a server that never accepts loses events, which are counted, and delays no request", async () => {
  await using receiver = await startReceiver(() => 500);
  const writer = await openAuditWebhook({ file: receiver.file, initialBackoffMs: 1 }, deps);
  const lost = new Map<string, number>();
  const count = (plugin: string, events: number) => void lost.set(plugin, (lost.get(plugin) ?? 0) + events);
  const options = { mode: "batch", bufferSize: 3, maxBatchSize: 2, maxBatchWaitMs: 0 } as const;
  const backend = new BatchedBackend(options, { ...deps, name: "webhook", writer, log: silentLog, lost: count });

  const results = [1, 2, 3, 4, 5].map((n) => backend.process(event(n)));
  await backend[Symbol.asyncDispose]();

  assert.deepEqual(results, [true, true, true, true, true]);
  assert.deepEqual(Object.fromEntries(lost), { buffered: 2, webhook: 3 });
});

test("a file that is not a kubeconfig is refused at the start", async () => {
  await assert.rejects(
    openAuditWebhook({ file: "/nonexistent/audit", initialBackoffMs: 1 }, deps),
    /\/nonexistent\/audit/,
  );
});
