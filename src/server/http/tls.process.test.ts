import assert from "node:assert/strict";
import { createHash, X509Certificate } from "node:crypto";
import { once } from "node:events";
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { connect, createServer, type TLSSocket } from "node:tls";
import { resolveContext } from "#client/kubeconfig/kubeconfig.ts";
import { parseKubeconfig } from "#client/kubeconfig/kubeconfig-file.ts";
import { systemClock } from "#lib/async/clock.ts";
import { notAfterMs, readSubject } from "#lib/crypto/x509.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { adminKubeconfig, issueClientCertificate, loadOrCreatePki, peerOf } from "./tls.ts";

const dayMs = 86_400_000;

async function inFolder(run: (dir: string) => Promise<void>): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), "pki-"));
  try {
    await run(dir);
  } finally {
    await rm(dir, { recursive: true });
  }
}

test("loadOrCreatePki() makes everything once and reads it back", () =>
  inFolder(async (dir) => {
    const clock = createVirtualClock();
    const made = await loadOrCreatePki(dir, { clock, hosts: ["box.example"] });
    const read = await loadOrCreatePki(dir, { clock, hosts: ["box.example"] });

    assert.deepEqual(read, made);
    for (const name of await readdir(dir)) assert.equal((await stat(join(dir, name))).mode & 0o777, 0o600, name);
    const serving = new X509Certificate(made.serving.certificate);
    for (const host of ["localhost", "kubernetes.default.svc.cluster.local", "box.example"]) {
      assert.equal(serving.checkHost(host), host);
    }
    for (const address of ["127.0.0.1", "::1", "10.96.0.1"]) assert(serving.checkIP(address), address);
    assert.deepEqual(readSubject(new X509Certificate(made.admin.certificate)), {
      commonName: "kubernetes-admin",
      organizations: ["system:masters"],
    });
  }));

test("a new host or an approaching expiry renews only the serving certificate", () =>
  inFolder(async (dir) => {
    const clock = createVirtualClock();
    const made = await loadOrCreatePki(dir, { clock });

    const wider = await loadOrCreatePki(dir, { clock, hosts: ["192.168.1.5"] });
    await clock.advance(300 * dayMs);
    const later = await loadOrCreatePki(dir, { clock, hosts: ["192.168.1.5"] });

    assert(new X509Certificate(wider.serving.certificate).checkIP("192.168.1.5"));
    assert.deepEqual(wider.admin, made.admin);
    assert.notEqual(later.serving.certificate, wider.serving.certificate);
    assert.notEqual(later.admin.certificate, made.admin.certificate);
    assert.deepEqual(later.authority, made.authority);
    assert.equal(later.serviceAccountKey, made.serviceAccountKey);
  }));

test("an authority near its expiry gets a new certificate for the same key", () =>
  inFolder(async (dir) => {
    const clock = createVirtualClock();
    const made = await loadOrCreatePki(dir, { clock });
    await clock.advance(3400 * dayMs);

    const later = await loadOrCreatePki(dir, { clock });

    assert.notEqual(later.authority.certificate, made.authority.certificate);
    assert.equal(later.authority.key, made.authority.key);
    const oldAuthority = new X509Certificate(made.authority.certificate);
    assert(new X509Certificate(later.serving.certificate).checkIssued(oldAuthority));
  }));

const damages = [
  { file: "ca.crt", text: "rubbish", says: /ca\.crt is damaged .*put the file back/ },
  { file: "ca.key", text: "", says: /ca\.key is damaged .*put the file back/ },
  {
    file: "server.crt",
    text: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    says: /delete server\.crt/,
  },
  { file: "service-account.key", text: "x", says: /service-account\.key is damaged .*tokens made before/ },
];
for (const { file, text, says } of damages) {
  test(`a damaged ${file} is reported with what to do`, () =>
    inFolder(async (dir) => {
      const clock = createVirtualClock();
      await loadOrCreatePki(dir, { clock });
      await writeFile(join(dir, file), text);

      await assert.rejects(loadOrCreatePki(dir, { clock }), says);
    }));
}

test("a missing authority key is reported, a missing leaf certificate is created again", () =>
  inFolder(async (dir) => {
    const clock = createVirtualClock();
    await loadOrCreatePki(dir, { clock });
    await rm(join(dir, "admin.key"));
    await loadOrCreatePki(dir, { clock });
    await rm(join(dir, "ca.key"));

    await assert.rejects(loadOrCreatePki(dir, { clock }), /ca\.key is missing/);
  }));

test("adminKubeconfig() is read back by the kubeconfig reader", () =>
  inFolder(async (dir) => {
    const pki = await loadOrCreatePki(dir, { clock: createVirtualClock() });

    const { config, context } = await resolveContext(
      await parseKubeconfig(adminKubeconfig(pki, "https://127.0.0.1:6443"), "/x/config"),
    );

    assert.equal(context, "orlop");
    assert.equal(config.server, "https://127.0.0.1:6443");
    assert.deepEqual(config.tls, { ca: pki.authority.certificate, cert: pki.admin.certificate, key: pki.admin.key });
  }));

test("peerOf() reads the peer once for each connection", () =>
  inFolder(async (dir) => {
    const pki = await loadOrCreatePki(dir, { clock: systemClock });
    const foreign = await loadOrCreatePki(join(dir, "other"), { clock: systemClock });
    const server = createServer({
      cert: pki.serving.certificate,
      key: pki.serving.key,
      ca: pki.authority.certificate,
      requestCert: true,
      rejectUnauthorized: false,
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    assert(typeof address === "object" && address);
    const peerWith = async (pair: { certificate: string; key: string } | undefined) => {
      const accepted = once(server, "secureConnection");
      const own = pair ? { cert: pair.certificate, key: pair.key } : {};
      const client = connect({ port: address.port, host: "127.0.0.1", ca: pki.authority.certificate, ...own });
      const [socket]: TLSSocket[] = await accepted;
      assert(socket);
      const peer = peerOf(socket);
      assert.equal(peerOf(socket), peer);
      client.destroy();
      socket.destroy();
      return peer;
    };

    const jane = issueClientCertificate(pki, systemClock, { commonName: "jane", organizations: ["dev", "ops"] });
    const verified = await peerWith(jane);
    const stranger = await peerWith(foreign.admin);
    const nobody = await peerWith(undefined);
    server.close();

    assert.deepEqual(verified.certificate, {
      commonName: "jane",
      organizations: ["dev", "ops"],
      fingerprint: createHash("sha256").update(new X509Certificate(jane.certificate).raw).digest("hex"),
      notAfterMs: notAfterMs(new X509Certificate(jane.certificate)),
    });
    assert.equal(stranger.certificate, undefined);
    assert.ok(stranger.certificateFault);
    assert.equal(nobody.certificateFault, undefined);
  }));

test("a folder that cannot be written is reported", async () => {
  if (process.getuid?.() === 0) return;
  await inFolder(async (dir) => {
    await chmod(dir, 0o500);
    await assert.rejects(loadOrCreatePki(dir, { clock: createVirtualClock() }), /cannot write/);
  });
});

test("files hold PEM text", () =>
  inFolder(async (dir) => {
    await loadOrCreatePki(dir, { clock: createVirtualClock() });

    assert.match(await readFile(join(dir, "ca.crt"), "utf8"), /^-----BEGIN CERTIFICATE-----\n/);
  }));
