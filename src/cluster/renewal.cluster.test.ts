import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import tls from "node:tls";
import { type Clock, systemClock } from "#lib/async/clock.ts";
import { systemRandom } from "#lib/data/random.ts";
import { silentLog } from "#lib/process/log.ts";
import { startControlPlane } from "./control-plane.ts";

const dayMs = 86_400_000;

/** The serial number of the certificate that a new connection gets. */
async function serialAt(port: number): Promise<string> {
  const socket = tls.connect({ port, host: "127.0.0.1", rejectUnauthorized: false });
  await once(socket, "secureConnect");
  const { serialNumber } = socket.getPeerCertificate();
  socket.destroy();
  return serialNumber;
}
const serialOf = (pem: string): string => new X509Certificate(pem).serialNumber;

test("a running control plane serves with its renewed certificate, and writes the administrator's", async () => {
  const dataDir = await mkdtemp(`${tmpdir()}/orlop-plane-`);
  let ahead = 0;
  const clock: Clock = { ...systemClock, now: () => systemClock.now() + ahead };
  const base = { clock, log: silentLog, random: systemRandom };
  await using plane = await startControlPlane({ ...base, dataDir, store: "memory", host: "127.0.0.1", port: 0 });
  const first = { serving: await serialAt(plane.port), kubeconfig: await readFile(plane.kubeconfigPath, "utf8") };

  await plane.certificates.renew();
  assert.equal(await serialAt(plane.port), first.serving);
  ahead = 276 * dayMs;
  await plane.certificates.renew();

  const serving = await serialAt(plane.port);
  assert.notEqual(serving, first.serving);
  assert.equal(serving, serialOf(await readFile(`${dataDir}/pki/server.crt`, "utf8")));
  while ((await readFile(plane.kubeconfigPath, "utf8")) === first.kubeconfig) await setImmediate();
  const admin = await readFile(`${dataDir}/pki/admin.crt`);
  assert((await readFile(plane.kubeconfigPath, "utf8")).includes(admin.toString("base64")));
  await rm(dataDir, { recursive: true });
});
