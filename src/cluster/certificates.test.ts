import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { suite, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { type KeyPair, notAfterMs, notBeforeMs } from "#lib/crypto/x509.ts";
import { jsonLog } from "#lib/process/log.ts";
import { issueClientCertificate, issueServingCertificate } from "#server/http/tls.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { Certificates } from "./certificates.ts";

const dayMs = 86_400_000;

async function start() {
  const dir = await mkdtemp(`${tmpdir()}/orlop-certificates-`);
  const clock = createVirtualClock();
  const messages: string[] = [];
  const log = jsonLog((line) => messages.push(String(JSON.parse(line).message)));
  const certificates = await Certificates.open({ dir, clock, log, hosts: () => ({}) });
  const subject = { commonName: "system:node:one" };
  const inUse = {
    serving: certificates.follow("serving"),
    admin: certificates.follow("admin"),
    kubelet: certificates.issue((pki) => issueServingCertificate(pki, clock, { subject, hosts: ["10.0.0.1"] })),
    client: certificates.issue((pki) => issueClientCertificate(pki, clock, { commonName: "client" })),
  };
  const stopping = new AbortController();
  const running = certificates.run(stopping.signal).catch(() => {});
  return {
    dir,
    clock,
    messages,
    certificates,
    inUse,
    /** Advances the clock by a day, and waits until the files have been checked. */
    async day() {
      await clock.advance(dayMs);
      while (clock.pending === 0) await setImmediate();
    },
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await running;
      await rm(dir, { recursive: true });
    },
  };
}

suite("Certificates", { timeout: 120_000 }, () => {
  test("are valid at every moment of two years, and signed by the authority", async () => {
    await using cluster = await start();
    const { clock, certificates, inUse } = cluster;
    const seen = Object.fromEntries(Object.entries(inUse).map(([name, { current }]) => [name, [current]]));
    for (const [name, renewed] of Object.entries(inUse)) renewed.onChange((pair) => seen[name]?.push(pair));

    for (let day = 0; day < 730; day++) {
      await cluster.day();
      const { publicKey } = new X509Certificate(certificates.pki.authority.certificate);
      for (const [name, { current }] of Object.entries(inUse)) {
        const certificate = new X509Certificate(current.certificate);
        assert(notBeforeMs(certificate) <= clock.now(), `${name} is not valid yet on day ${day}`);
        assert(notAfterMs(certificate) > clock.now() + 30 * dayMs, `${name} has less than a month left on day ${day}`);
        assert(certificate.verify(publicKey), `${name} is not signed by the authority on day ${day}`);
      }
    }

    // A certificate lasts a year and is replaced 90 days before its end, so on days 275 and 550.
    for (const [name, pairs] of Object.entries(seen)) assert.equal(pairs.length, 3, name);
    assert.deepEqual(await pairOnDisk(cluster.dir, "server"), inUse.serving.current);
    assert.deepEqual(await pairOnDisk(cluster.dir, "admin"), inUse.admin.current);
  });

  test("stay in use while they cannot be renewed, and are renewed as soon as possible", async () => {
    await using cluster = await start();
    const { dir, clock, inUse, messages } = cluster;
    for (let day = 0; day < 274; day++) await cluster.day();
    const before = inUse.serving.current;
    await rename(`${dir}/ca.key`, `${dir}/away`);

    await cluster.day();
    await cluster.day();
    assert.equal(inUse.serving.current, before);
    assert(messages.includes("certificates could not be renewed"));

    await rename(`${dir}/away`, `${dir}/ca.key`);
    await clock.advance(3_600_000);
    while (clock.pending === 0) await setImmediate();
    assert.notEqual(inUse.serving.current.certificate, before.certificate);
  });

  test("the authority is renewed with the same key, so that the certificates it signed stay valid", async () => {
    await using cluster = await start();
    const { clock, certificates, inUse } = cluster;
    const first = new X509Certificate(certificates.pki.authority.certificate);

    await clock.advance(3649 * dayMs - 365 * dayMs);
    while (clock.pending === 0) await setImmediate();
    for (let day = 0; day < 3; day++) await cluster.day();

    const second = new X509Certificate(certificates.pki.authority.certificate);
    assert(notAfterMs(second) > notAfterMs(first));
    assert.equal(second.subject, first.subject);
    const leaf = new X509Certificate(inUse.serving.current.certificate);
    assert(leaf.verify(first.publicKey) && leaf.verify(second.publicKey));
  });
});

async function pairOnDisk(dir: string, name: string): Promise<KeyPair> {
  const [certificate, key] = await Promise.all([
    readFile(`${dir}/${name}.crt`, "utf8"),
    readFile(`${dir}/${name}.key`, "utf8"),
  ]);
  return { certificate, key };
}
