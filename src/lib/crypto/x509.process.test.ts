import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { test } from "node:test";
import { connect, createServer } from "node:tls";
import { createAuthority, createCertificate, notAfterMs, readRequestSubject, readSubject } from "./x509.ts";

const day = 86_400_000;
const start = Date.UTC(2026, 0, 1);
const validity = { notBeforeMs: start, notAfterMs: start + 365 * day };
const authority = createAuthority({ subject: { commonName: "test-ca" }, ...validity });

test("createAuthority() makes a self-signed certificate that may sign others", () => {
  const certificate = new X509Certificate(authority.certificate);

  assert.equal(certificate.ca, true);
  assert(certificate.verify(certificate.publicKey));
  assert.equal(notAfterMs(certificate), validity.notAfterMs);
});

test("createCertificate() carries names, addresses and organizations", () => {
  const hosts = ["localhost", "127.0.0.1", "::1", "fd00::1:2", "::ffff:10.0.0.1", "kubernetes.default.svc"];
  const pair = createCertificate(authority, {
    subject: { commonName: "a, CN=b", organizations: ["system:masters", "ünïcode", "x+y"] },
    use: "both",
    hosts,
    ...validity,
  });
  const certificate = new X509Certificate(pair.certificate);

  assert(certificate.checkIssued(new X509Certificate(authority.certificate)));
  assert(certificate.verify(new X509Certificate(authority.certificate).publicKey));
  for (const host of ["localhost", "kubernetes.default.svc"]) assert.equal(certificate.checkHost(host), host);
  for (const host of ["127.0.0.1", "::1", "fd00::1:2"]) assert(certificate.checkIP(host), host);
  assert.equal(certificate.checkIP("127.0.0.2"), undefined);
  assert.deepEqual(readSubject(certificate), {
    commonName: "a, CN=b",
    organizations: ["system:masters", "ünïcode", "x+y"],
  });
});

test("a validity that ends after 2049 is written as a generalized time", () => {
  const notAfter = Date.UTC(2061, 5, 1);
  const pair = createAuthority({ subject: { commonName: "late" }, notBeforeMs: start, notAfterMs: notAfter });

  assert.equal(notAfterMs(new X509Certificate(pair.certificate)), notAfter);
});

test("both ends of a TLS connection accept the certificates", async () => {
  const now = Date.now();
  const valid = { notBeforeMs: now - day, notAfterMs: now + day };
  const ca = createAuthority({ subject: { commonName: "ca" }, ...valid });
  const serving = createCertificate(ca, {
    subject: { commonName: "s" },
    use: "server",
    hosts: ["localhost"],
    ...valid,
  });
  const client = createCertificate(ca, {
    subject: { commonName: "c", organizations: ["o"] },
    use: "client",
    ...valid,
  });
  const server = createServer({
    cert: serving.certificate,
    key: serving.key,
    ca: ca.certificate,
    requestCert: true,
    rejectUnauthorized: true,
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  assert(typeof address === "object" && address);
  const accepted = once(server, "secureConnection");

  const socket = connect({
    port: address.port,
    host: "127.0.0.1",
    servername: "localhost",
    ca: ca.certificate,
    cert: client.certificate,
    key: client.key,
  });
  await once(socket, "secureConnect");
  const [peer] = await accepted;

  assert(socket.authorized);
  assert.equal(readSubject(peer.getPeerX509Certificate()).commonName, "c");
  socket.destroy();
  server.close();
});

const signingRequest = `-----BEGIN CERTIFICATE REQUEST-----
MIHrMIGRAgEAMC8xFTATBgNVBAoMDHN5c3RlbTpub2RlczEWMBQGA1UEAwwNc3lz
dGVtOm5vZGU6YTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABJnTUUXcyCtUPmKX
Ah1sOupmvErC6kg4+SXFTFUnM4qJGPOTiq4khKrB5n86Vys1hVoMdrNLEI/rpCHv
mrbxEXSgADAKBggqhkjOPQQDAgNJADBGAiEA7IixjLnQw0Xl99bUFMS75ujmvRzd
1kt2qZW4jgy4zgUCIQCis4EH2WvP+ohvkbAI5nzhGjbh+YRHeatt5ZUJybJL8A==
-----END CERTIFICATE REQUEST-----
`;

test("readRequestSubject() reads a request that another tool made", () => {
  assert.deepEqual(readRequestSubject(signingRequest), {
    commonName: "system:node:a",
    organizations: ["system:nodes"],
  });
  assert.throws(() => readRequestSubject("rubbish"), RangeError);
  assert.throws(() => readRequestSubject(signingRequest + "\n".repeat(70_000)), /too long/);
});

test("readRequestSubject() reads only the block, not the text before it", () => {
  const other = createAuthority({ subject: { commonName: "other" }, ...validity }).certificate;
  const before = other.replaceAll(/-----.*-----/g, "");

  assert.equal(readRequestSubject(before + signingRequest).commonName, "system:node:a");
  assert.throws(() => readRequestSubject(other), RangeError);
});
