import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:https";
import { type AddressInfo } from "node:net";
import { test } from "node:test";
import { SelfSubjectReview } from "#api/authentication/self-subject-review.ts";
import { Pod } from "#api/core/pod.ts";
import { systemClock } from "#lib/async/clock.ts";
import { runTogether } from "#lib/async/tasks.ts";
import { jsonWebKeys, signingKey, signJwt } from "#lib/crypto/jwt.ts";
import { createAuthority, createCertificate, createKey, keyToPem } from "#lib/crypto/x509.ts";
import { makeFiles, startPlane } from "./security.suite.ts";

const validity = { notBeforeMs: systemClock.now() - 60_000, notAfterMs: systemClock.now() + 3_600_000 };
const authority = createAuthority({ subject: { commonName: "issuer" }, ...validity });

/** An issuer, which may claim to be another one. */
async function startIssuer() {
  const hosts = ["127.0.0.1"];
  const pair = createCertificate(authority, { subject: { commonName: "i" }, use: "server", hosts, ...validity });
  const key = signingKey(keyToPem(createKey()));
  let says = "";
  const server = createServer({ key: pair.key, cert: pair.certificate }, (request, response) => {
    const configuration = { issuer: says || url, jwks_uri: `${url}/keys` };
    response.end(JSON.stringify(request.url === "/keys" ? jsonWebKeys([key]) : configuration));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    sayToBe: (issuer: string) => {
      says = issuer;
    },
    sign(claims: object = {}) {
      return signJwt(key, { iss: url, aud: "orlop", sub: "jane", exp: systemClock.now() / 1000 + 600, ...claims });
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

const configOf = (url: string) => ({
  apiVersion: "apiserver.config.k8s.io/v1",
  kind: "AuthenticationConfiguration",
  jwt: [
    {
      issuer: { url, audiences: ["orlop"], certificateAuthority: authority.certificate },
      claimMappings: { username: { claim: "sub", prefix: "oidc:" }, groups: { claim: "groups", prefix: "" } },
    },
  ],
  anonymous: { enabled: true, conditions: [{ path: "/livez" }] },
});

test("tokens of an issuer in the configuration identify callers, and anonymous ones see only the chosen paths", async () => {
  await using files = await makeFiles();
  await using issuer = await startIssuer();
  await using liar = await startIssuer();
  liar.sayToBe(issuer.url);
  const config = configOf(issuer.url);
  const jwt = [...config.jwt, ...configOf(liar.url).jwt];
  const configFile = await files.write("authn.json", { ...config, jwt });
  await using started = await startPlane({ issuers: { configFile } }, files.dir);
  const stop = new AbortController();
  const running = runTogether(stop.signal, [(signal) => started.plane.run(signal)]);
  const token = issuer.sign({ groups: ["system:masters"] });
  const client = started.withToken(token);

  const { status } = await client.create(SelfSubjectReview, { metadata: {} });
  await client.list(Pod);
  const open = await started.clientWith().raw("GET", "/livez");
  const closed = await started.clientWith().raw("GET", "/version");

  assert.deepEqual(status.userInfo, { username: "oidc:jane", groups: ["system:masters", "system:authenticated"] });
  assert.deepEqual([open.status, closed.status], [200, 401]);
  await assert.rejects(started.withToken(liar.sign()).list(Pod), { code: 401 });
  await assert.rejects(started.withToken(issuer.sign({ aud: "x" })).list(Pod), { code: 401 });
  await assert.rejects(started.withToken(issuer.sign({ iss: liar.url })).list(Pod), { code: 401 });
  stop.abort();
  await running;
});

test("a server does not start if the flags or files about issuers cannot be used", async () => {
  await using files = await makeFiles();
  const configFile = await files.write("authn.json", configOf("http://plain.test"));

  await assert.rejects(startPlane({ issuers: { configFile } }, files.dir), {
    name: "ConfigFileError",
    message: /authn.json: jwt\[0\].issuer.url: Invalid value: "http:\/\/plain.test": URL scheme must be https$/,
  });
  await writeFile(configFile, JSON.stringify(configOf("https://a.test")));
  await assert.rejects(startPlane({ issuers: { configFile }, anonymous: true }, files.dir), {
    message: /--anonymous-auth flag cannot be set/,
  });
});
