import assert from "node:assert/strict";
import { createHmac, createPrivateKey, generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import { type JwtPart, type SigningKey, signingKey, signJwt } from "#lib/crypto/jwt.ts";
import { createKey, keyToPem } from "#lib/crypto/x509.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { type IssuerKeys } from "./issuer-keys.ts";
import { oidcTokens, signingAlgorithms } from "./oidc.ts";

const url = "https://issuer.test";
const rsa = signingKey(generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export(pkcs8()).toString());
const ec = signingKey(keyToPem(createKey()));

function pkcs8() {
  return { type: "pkcs8", format: "pem" } as const;
}

function setUp(known: readonly SigningKey[] = [rsa, ec], later: readonly SigningKey[] = known) {
  const clock = createVirtualClock();
  let keys = known;
  let refreshed = 0;
  const issuerKeys: IssuerKeys = {
    find: (id) =>
      keys.filter((key) => id === undefined || key.id === id).map(({ id, publicKey }) => ({ id, key: publicKey })),
    async refresh() {
      keys = later;
      return ++refreshed === 1;
    },
    run: async () => {},
  };
  const config = {
    issuer: { url, audiences: ["orlop"] },
    claimMappings: { username: { claim: "sub", prefix: "" }, groups: { claim: "groups", prefix: "" }, uid: {} },
  };
  const issuers = () => [{ config, keys: issuerKeys }];
  const tokens = oidcTokens({ issuers, algorithms: signingAlgorithms, clock });
  const claims = { iss: url, sub: "jane", aud: "orlop", groups: ["dev"], exp: clock.now() / 1000 + 3600 };
  return {
    clock,
    claims,
    ask: async (token: string) => await tokens.authenticateToken(token),
    refreshed: () => refreshed,
  };
}

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
const forged = (header: JwtPart, claims: JwtPart, signature = ""): string =>
  `${part(header)}.${part(claims)}.${signature}`;

test("oidcTokens() accepts tokens that a key of the issuer has signed", async () => {
  const { claims, ask } = setUp();

  assert.deepEqual(await ask(signJwt(rsa, claims)), { user: { name: "jane", groups: ["dev"] } });
  assert.deepEqual(await ask(signJwt(ec, claims)), { user: { name: "jane", groups: ["dev"] } });
});

test("oidcTokens() leaves tokens of others alone", async () => {
  const { claims, ask } = setUp();

  assert.equal(await ask(signJwt(rsa, { ...claims, iss: "https://other.test" })), undefined);
  assert.equal(await ask("opaque"), undefined);
  assert.equal(await ask("{}"), undefined);
});

const attacks: readonly (readonly [name: string, token: (claims: JwtPart) => string])[] = [
  ["no algorithm", (claims) => forged({ alg: "none" }, claims)],
  ["no algorithm, with a key", (claims) => forged({ alg: "None", kid: rsa.id }, claims)],
  ["the public key as a shared secret", (claims) => sharedSecret(claims)],
  ["another key under the id of a known one", (claims) => withId(signJwt(signingKey(keyToPem(createKey())), claims))],
  ["a key that the token brings along", (claims) => embedded(claims)],
  ["an algorithm of another key type", (claims) => relabelled(signJwt(ec, claims), { alg: "RS256", kid: ec.id })],
  [
    "another algorithm of the same key type",
    (claims) => relabelled(signJwt(rsa, claims), { alg: "PS256", kid: rsa.id }),
  ],
  [
    "a path as the id of the key",
    (claims) => relabelled(signJwt(rsa, claims), { alg: "RS256", kid: "../../etc/passwd" }),
  ],
  ["an id of the key that is no text", (claims) => relabelled(signJwt(ec, claims), { alg: "ES256", kid: { a: 1 } })],
  ["changed claims", (claims) => changed(signJwt(rsa, claims), { ...claims, sub: "root" })],
  ["another audience", (claims) => signJwt(rsa, { ...claims, aud: "vault" })],
  ["an expired token", (claims) => signJwt(rsa, { ...claims, exp: 1 })],
];
for (const [name, token] of attacks) {
  test(`oidcTokens() refuses ${name}`, async () => {
    const { claims, ask } = setUp();
    await assert.rejects(ask(token(claims)), { code: 401, message: "Unauthorized" });
  });
}

test("oidcTokens() does not read a token that is too long, or that demands extensions", async () => {
  const { claims, ask } = setUp();

  assert.equal(await ask(signJwt(rsa, { ...claims, filler: "x".repeat(20_000) })), undefined);
  assert.equal(
    await ask(relabelled(signJwt(rsa, claims), { alg: "RS256", kid: rsa.id, crit: ["b64"], b64: false })),
    undefined,
  );
});

test("oidcTokens() finds the key that the issuer has changed to, and not more often than allowed", async () => {
  const { claims, ask, refreshed } = setUp([rsa], [ec]);

  assert.equal((await ask(signJwt(ec, claims)))?.user.name, "jane");
  await assert.rejects(ask(signJwt(rsa, claims)), { code: 401 }, "the old key is gone");
  assert.equal(refreshed(), 2);
});

test("oidcTokens() accepts no token after its time, although it was accepted before", async () => {
  const { clock, claims, ask } = setUp();
  const token = signJwt(rsa, { ...claims, exp: clock.now() / 1000 + 5 });
  await ask(token);

  await clock.advance(4_999);
  await ask(token);
  await clock.advance(1);

  await assert.rejects(ask(token), { code: 401 });
});

/** HS256 with the public key, which everybody knows. */
function sharedSecret(claims: JwtPart): string {
  const signed = `${part({ alg: "HS256", kid: rsa.id })}.${part(claims)}`;
  const secret = rsa.publicKey.export({ type: "spki", format: "pem" });
  return `${signed}.${createHmac("sha256", secret).update(signed).digest("base64url")}`;
}

/** A token signed by a key that its own header contains. */
function embedded(claims: JwtPart): string {
  const mine = signingKey(createPrivateKey(keyToPem(createKey())).export(pkcs8()).toString());
  return relabelled(signJwt(mine, claims), { alg: "ES256", kid: ec.id, jwk: mine.publicKey.export({ format: "jwk" }) });
}

const withId = (token: string): string => relabelled(token, { alg: "ES256", kid: ec.id });

function relabelled(token: string, header: JwtPart): string {
  const [, claims = "", signature = ""] = token.split(".");
  return `${part(header)}.${claims}.${signature}`;
}

function changed(token: string, claims: JwtPart): string {
  const [header = "", , signature = ""] = token.split(".");
  return `${header}.${part(claims)}.${signature}`;
}
