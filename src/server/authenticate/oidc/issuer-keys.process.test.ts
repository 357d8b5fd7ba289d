import assert from "node:assert/strict";
import { createServer } from "node:https";
import { type AddressInfo } from "node:net";
import { test } from "node:test";
import { systemClock } from "#lib/async/clock.ts";
import { createAuthority, createCertificate } from "#lib/crypto/x509.ts";
import { silentLog } from "#lib/process/log.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { createIssuerKeys } from "./issuer-keys.ts";

const validity = { notBeforeMs: systemClock.now() - 60_000, notAfterMs: systemClock.now() + 3_600_000 };
const authority = createAuthority({ subject: { commonName: "issuer" }, ...validity });
const rsa = { kty: "RSA", e: "AQAB", n: "x".repeat(342) };

/** A server of documents by their paths, and keys that are read from it. */
async function start(documents: (url: string) => Record<string, unknown>) {
  const hosts = ["127.0.0.1"];
  const pair = createCertificate(authority, { subject: { commonName: "i" }, use: "server", hosts, ...validity });
  const asked: string[] = [];
  const server = createServer({ key: pair.key, cert: pair.certificate }, (request, response) => {
    asked.push(request.url ?? "");
    response.end(JSON.stringify(documents(url)[request.url ?? ""] ?? {}));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const clock = createVirtualClock();
  const certificateAuthority = authority.certificate;
  const open = (discoveryUrl?: string) =>
    createIssuerKeys({ url, discoveryUrl, certificateAuthority, clock, log: silentLog });
  return {
    url,
    clock,
    asked,
    open,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}
const wellKnown = "/.well-known/openid-configuration";

test("createIssuerKeys() fetches the keys for signatures, and again when they change, but not too often", async () => {
  let keys: object[] = [
    { ...rsa, kid: "a", use: "sig" },
    { ...rsa, kid: "e", use: "enc" },
    { kty: "oct", k: "AAAA", kid: "s" },
    { kty: "EC", crv: "P-256", x: "!", y: "!", kid: "broken" },
    { ...rsa },
  ];
  await using server = await start((url) => ({
    [wellKnown]: { issuer: url, jwks_uri: `${url}/keys` },
    "/keys": { keys },
  }));
  const found = server.open();
  const ids = () => found.find(undefined).map(({ id }) => id);

  assert.deepEqual(ids(), []);
  await Promise.all([found.refresh(), found.refresh(), found.refresh()]);
  assert.deepEqual(ids(), ["a", ""]);
  keys = [{ ...rsa, kid: "b" }];
  assert.equal(await found.refresh(), false);
  await server.clock.advance(10_000);
  assert.equal(await found.refresh(), true);

  assert.deepEqual(ids(), ["b"]);
  assert.deepEqual(server.asked, [wellKnown, "/keys", wellKnown, "/keys"]);
});

const lies: readonly (readonly [name: string, document: (url: string) => object])[] = [
  ["another issuer's document", (url) => ({ issuer: `${url}/`, jwks_uri: `${url}/keys` })],
  ["keys without TLS", (url) => ({ issuer: url, jwks_uri: url.replace("https", "http") })],
  ["keys in a file", (url) => ({ issuer: url, jwks_uri: "file:///etc/passwd" })],
  ["no place of keys", (url) => ({ issuer: url })],
];
for (const [name, document] of lies) {
  test(`createIssuerKeys() accepts nothing from ${name}`, async () => {
    await using server = await start((url) => ({ [wellKnown]: document(url), "/keys": { keys: [rsa] } }));
    const found = server.open();

    await found.refresh();

    assert.deepEqual(found.find(undefined), []);
    assert.deepEqual(server.asked, [wellKnown]);
  });
}

test("createIssuerKeys() uses the discovery URL, and keeps its keys when the issuer is gone", async () => {
  let isThere = true;
  await using server = await start((url) =>
    isThere
      ? { "/elsewhere": { issuer: url, jwks_uri: `${url}/keys` }, "/keys": { keys: [{ ...rsa, kid: "a" }] } }
      : {},
  );
  const found = server.open(`${server.url}/elsewhere`);
  await found.run(new AbortController().signal);
  isThere = false;
  await server.clock.advance(10_000);

  await found.refresh();

  assert.equal(found.find("a").length, 1);
  assert.equal(found.find("b").length, 0);
});
