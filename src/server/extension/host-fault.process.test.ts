import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:https";
import { type AddressInfo } from "node:net";
import { test } from "node:test";
import { exchangeBounded } from "#client/webhook/bounded-exchange.ts";
import { systemClock } from "#lib/async/clock.ts";
import { createAuthority, createCertificate } from "#lib/crypto/x509.ts";
import { Connections } from "./connections.ts";
import { describeFault } from "./describe-fault.ts";

const now = systemClock.now();
const validity = { notBeforeMs: now - 60_000, notAfterMs: now + 3_600_000 };
const authority = createAuthority({ subject: { commonName: "authority" }, ...validity });
const caBundle = Buffer.from(authority.certificate).toString("base64");

/** What the caller of a server with this certificate is told; undefined if it is answered. */
async function call(serverName: string | undefined, commonName: string, hosts: readonly string[], isUnchecked = false) {
  const { key, certificate: cert } = createCertificate(authority, {
    ...{ subject: { commonName }, use: "server", hosts },
    ...validity,
  });
  const server = createServer({ key, cert }, (_, response) => response.end("answer"));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const address = { host: "127.0.0.1", port, serverName, authority: "a", path: "/" };
  const connections = new Connections({ caBundle, isUnchecked });
  const limits = { timeoutMs: 30_000, maxBytes: 100, clock: systemClock, signal: new AbortController().signal };
  try {
    const wire = { method: "GET", path: "/", headers: {}, body: new Uint8Array() };
    await connections.use(address, (transport) => exchangeBounded(transport, wire, limits));
    return undefined;
  } catch (error) {
    return describeFault(error, address);
  } finally {
    connections.retire();
    server.closeAllConnections();
    server.close();
  }
}

const many = Array.from({ length: 100 }, (_, index) => `n${index}.example.com`);
const svc = "guard.default.svc";
interface Case {
  readonly called?: string;
  readonly name?: string;
  readonly hosts: readonly string[];
  readonly says: string | RegExp | undefined;
}
const cases: readonly Case[] = [
  { called: svc, hosts: [svc], says: undefined },
  { called: svc, hosts: ["*.default.svc"], says: undefined },
  { called: svc, hosts: ["guard", "127.0.0.1", "a.b"], says: `certificate is valid for guard, a.b, not ${svc}` },
  {
    ...{ called: svc, name: svc, hosts: ["127.0.0.1"] },
    says: `certificate is not valid for any names, but wanted to match ${svc}`,
  },
  { called: svc, hosts: ["127.0.0.1"], says: `certificate is not valid for any names, but wanted to match ${svc}` },
  { called: svc, hosts: many, says: `certificate is valid for 100 names, but none matched ${svc}` },
  { called: svc, hosts: [`a", DNS:${svc}`], says: /^certificate is valid for .*, not guard.default.svc$/ },
  { called: svc, name: svc, hosts: [], says: "certificate relies on legacy Common Name field, use SANs instead" },
  { called: svc, hosts: [], says: `certificate is not valid for any names, but wanted to match ${svc}` },
  { hosts: ["127.0.0.1"], says: undefined },
  { hosts: ["127.0.0.2", "10.0.0.1"], says: "certificate is valid for 127.0.0.2, 10.0.0.1, not 127.0.0.1" },
  {
    hosts: ["localhost"],
    says: "cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs",
  },
];
for (const { called, name = "server", hosts, says } of cases) {
  const shown = hosts.length > 9 ? `${hosts.length} names` : hosts.join() || `nothing but the subject ${name}`;
  test(`a server called as ${called ?? "127.0.0.1"} whose certificate is for ${shown}: ${says ?? "is trusted"}`, async () => {
    const fault = await call(called, name, hosts);

    const prefix = "tls: failed to verify certificate: x509: ";
    if (typeof says === "string") assert.equal(fault, prefix + says);
    else if (says) assert.match(fault?.slice(prefix.length) ?? "", says);
    else assert.equal(fault, undefined);
  });
}

test("a certificate that need not be checked may be for any host", async () => {
  assert.equal(await call(svc, "server", ["other"], true), undefined);
});
