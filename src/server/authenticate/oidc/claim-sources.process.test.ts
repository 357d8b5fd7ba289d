import assert from "node:assert/strict";
import type { RequestListener } from "node:http";
import { createServer } from "node:https";
import { type AddressInfo } from "node:net";
import { test } from "node:test";
import { systemClock } from "#lib/async/clock.ts";
import { createAuthority, createCertificate } from "#lib/crypto/x509.ts";
import { silentLog } from "#lib/process/log.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { createClaimSources } from "./claim-sources.ts";
import { createIssuerKeys } from "./issuer-keys.ts";

const validity = { notBeforeMs: systemClock.now() - 60_000, notAfterMs: systemClock.now() + 3_600_000 };
const authority = createAuthority({ subject: { commonName: "source" }, ...validity });

async function start(listener: RequestListener) {
  const hosts = ["127.0.0.1"];
  const pair = createCertificate(authority, { subject: { commonName: "s" }, use: "server", hosts, ...validity });
  const server = createServer({ key: pair.key, cert: pair.certificate }, listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const clock = createVirtualClock();
  const options = { url: "https://issuer.test", certificateAuthority: authority.certificate, clock, log: silentLog };
  const own = createIssuerKeys(options);
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    clock,
    own,
    sources: createClaimSources(own, options),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

test("a source is asked with its access token and nothing else", async () => {
  await using server = await start((request, response) =>
    response.end(`${request.method} ${request.url} ${request.headers.authorization}`),
  );
  assert.equal(await server.sources.fetch(`${server.url}/g?a=b`, "open"), "GET /g?a=b Bearer open");
  assert.equal(await server.sources.fetch(`${server.url}/`, ""), "GET / undefined");
});

test("a redirect of a source is not followed", async () => {
  const asked: string[] = [];
  await using server = await start((request, response) => {
    asked.push(request.url ?? "");
    response.writeHead(302, { location: "/elsewhere" }).end();
  });
  await assert.rejects(server.sources.fetch(`${server.url}/groups`, "open"), /answered with status 302/);
  assert.deepEqual(asked, ["/groups"]);
});

test("a source can send neither for ever nor without end", async () => {
  let isAsked = (): void => {};
  const hanging = new Promise<void>((resolve) => (isAsked = resolve));
  await using server = await start((request, response) => {
    if (request.url === "/hang") isAsked();
    else for (let n = 0; n < 8; n++) response.write("x".repeat(64 * 1024));
  });
  await assert.rejects(server.sources.fetch(`${server.url}/large`, ""), /larger than/);
  const late = assert.rejects(server.sources.fetch(`${server.url}/hang`, ""), /no complete answer within 5000 ms/);
  await hanging;
  await server.clock.advance(5001);
  await late;
});

test("the keys of few issuers are kept", async () => {
  await using server = await start((_request, response) => response.end());
  const { sources, own } = server;
  assert.equal(sources.keysOf("https://issuer.test"), own);
  const first = sources.keysOf("https://a.test");
  assert.equal(sources.keysOf("https://a.test"), first);
  for (let n = 0; n < 16; n++) sources.keysOf(`https://a${n}.test`);
  assert.notEqual(sources.keysOf("https://a.test"), first);
});
