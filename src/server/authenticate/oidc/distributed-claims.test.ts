import assert from "node:assert/strict";
import { test } from "node:test";
import { type JwtPart, type SigningKey, signingKey, signJwt } from "#lib/crypto/jwt.ts";
import { createKey, keyToPem } from "#lib/crypto/x509.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { type ClaimSources, planEndpoint } from "./distributed-claims.ts";
import { type IssuerKeys } from "./issuer-keys.ts";
import { oidcTokens, signingAlgorithms } from "./oidc.ts";

const url = "https://issuer.test";
const other = "https://groups.test";
const own = signingKey(keyToPem(createKey()));
const others = signingKey(keyToPem(createKey()));

const keysFrom = ({ id, publicKey }: SigningKey): IssuerKeys => ({
  find: () => [{ id, key: publicKey }],
  refresh: async () => false,
  run: async () => {},
});

const config = {
  issuer: { url, audiences: ["orlop"] },
  claimMappings: { username: { claim: "sub", prefix: "" }, groups: { claim: "groups", prefix: "oidc:" }, uid: {} },
};

/** A token of the issuer that refers to a source for the groups, which answers as told. */
function setUp(answer: (claims: JwtPart) => string | Promise<string>) {
  const clock = createVirtualClock();
  const claims = { iss: url, sub: "jane", aud: "orlop", exp: clock.now() / 1000 + 3600 };
  const asked: [url: string, accessToken: string][] = [];
  const sources: ClaimSources = {
    underway: 0,
    async fetch(where, accessToken) {
      asked.push([where, accessToken]);
      return await answer({ ...claims, iss: other });
    },
    keysOf: (issuer) => keysFrom(issuer === url ? own : others),
  };
  const issuers = () => [{ config, keys: keysFrom(own), sources }];
  const tokens = oidcTokens({ issuers, algorithms: signingAlgorithms, clock });
  const refers = {
    _claim_names: { groups: "src1" },
    _claim_sources: { src1: { endpoint: `${other}/groups?of=jane`, access_token: "open" } },
  };
  const ask = async (more: JwtPart = {}) =>
    await tokens.authenticateToken(signJwt(own, { ...claims, ...refers, ...more }));
  return { ask, asked, sources, clock };
}

const jane = (groups: string[]) => ({ user: { name: "jane", groups } });

test("the groups come from the source that the token names", async () => {
  const { ask, asked } = setUp((claims) => signJwt(others, { ...claims, groups: ["dev", "ops"] }));
  assert.deepEqual(await ask(), jane(["oidc:dev", "oidc:ops"]));
  assert.deepEqual(asked, [[`${other}/groups?of=jane`, "open"]]);
});

test("the issuer may sign for its own source", async () => {
  const { ask } = setUp((claims) => signJwt(own, { ...claims, iss: url, groups: "dev" }));
  assert.deepEqual(await ask(), jane(["oidc:dev"]));
});

test("nobody is asked for what the token says itself, nor for another claim", async () => {
  const { ask, asked } = setUp(() => assert.fail());
  assert.deepEqual(await ask({ groups: ["here"] }), jane(["oidc:here"]));
  assert.deepEqual(await ask({ _claim_names: { teams: "src1" } }), jane([]));
  assert.deepEqual(await ask({ _claim_sources: { src1: { JWT: "aggregated" } } }), jane([]));
  assert.deepEqual(asked, []);
});

test("groups do not outlive the token that names them", async () => {
  const answers = [["dev"], ["ops"]];
  const { ask, clock } = setUp((claims) =>
    signJwt(others, { ...claims, exp: clock.now() / 1000 + 2, groups: answers.shift() }),
  );
  assert.deepEqual(await ask(), jane(["oidc:dev"]));
  await clock.advance(2000);
  assert.deepEqual(await ask(), jane(["oidc:ops"]));
});

const refused: readonly (readonly [name: string, answer: (claims: JwtPart) => string])[] = [
  ["no token", () => "<html>"],
  ["nothing", () => ""],
  ["a token without groups", (claims) => signJwt(others, claims)],
  ["a token that somebody else has signed", (claims) => signJwt(own, { ...claims, groups: ["system:masters"] })],
  ["a token for another audience", (claims) => signJwt(others, { ...claims, aud: "vault", groups: ["dev"] })],
  ["an expired token", (claims) => signJwt(others, { ...claims, exp: 1, groups: ["dev"] })],
  ["an issuer without https", (claims) => signJwt(others, { ...claims, iss: "http://groups.test", groups: ["dev"] })],
  ["an issuer that is no text", (claims) => signJwt(others, { ...claims, iss: { a: 1 }, groups: ["dev"] })],
  ["groups that are no texts", (claims) => signJwt(others, { ...claims, groups: [1] })],
  ["more than a token can be", (claims) => signJwt(others, { ...claims, groups: "x".repeat(300_000) })],
];
for (const [name, answer] of refused) {
  test(`a source that answers with ${name} gives no identity`, async () => {
    const { ask } = setUp(answer);
    await assert.rejects(ask(), { code: 401, message: "Unauthorized" });
  });
}

const bad: readonly (readonly [name: string, claims: JwtPart])[] = [
  ["names that are no map", { _claim_names: "groups" }],
  ["a name that is no text", { _claim_names: { groups: {} } }],
  ["no sources", { _claim_names: { groups: "a" } }],
  ["a source that is not there", { _claim_names: { groups: "constructor" }, _claim_sources: {} }],
  ["a source that is no object", sourced("https://a.test")],
  ["a URL without TLS", sourced({ endpoint: "http://a.test" })],
  ["a file", sourced({ endpoint: "file:///etc/passwd" })],
  ["credentials in the URL", sourced({ endpoint: "https://admin:secret@a.test" })],
  ["no URL", sourced({ endpoint: "//a.test" })],
  ["a long URL", sourced({ endpoint: `https://a.test/${"x".repeat(3000)}` })],
  ["a header in the access token", sourced({ endpoint: "https://a.test", access_token: "a\r\nhost: b" })],
];
function sourced(source: unknown): JwtPart {
  return { _claim_names: { groups: "a" }, _claim_sources: { a: source } };
}
for (const [name, claims] of bad) {
  test(`planEndpoint() refuses ${name}`, () => assert.throws(() => planEndpoint(claims, "groups"), Error));
}

test("sources that hang do not take all places", async () => {
  const { ask, sources } = setUp(() => new Promise(() => {}));
  for (let n = 0; n < 8; n++) void ask({ jti: String(n) });
  while (sources.underway < 8) await new Promise((resolve) => setImmediate(resolve));
  await assert.rejects(ask({ jti: "next" }), { code: 429 });
});
