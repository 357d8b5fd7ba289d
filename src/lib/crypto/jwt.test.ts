import assert from "node:assert/strict";
import { createPublicKey, generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import { isSignedBy, jsonWebKeys, parseJwt, signingKey, signJwt, verifyingKey } from "./jwt.ts";
import { createKey, keyToPem } from "./x509.ts";

const key = signingKey(keyToPem(createKey()));

test("a signed token verifies only with its own key", () => {
  const token = parseJwt(signJwt(key, { iss: "me", n: 1 }));
  assert(token);

  assert.deepEqual(token.claims, { iss: "me", n: 1 });
  assert.deepEqual(token.header, { alg: "ES256", kid: key.id });
  assert(isSignedBy(key, token));
  assert(!isSignedBy(signingKey(keyToPem(createKey())), token));
});

test("a changed claim breaks the signature", () => {
  const [head, , signature] = signJwt(key, { sub: "a" }).split(".");
  const forged = parseJwt(`${head}.${Buffer.from('{"sub":"b"}').toString("base64url")}.${signature}`);

  assert(forged && !isSignedBy(key, forged));
});

test("a token cannot choose its algorithm", () => {
  const none = Buffer.from('{"alg":"none"}').toString("base64url");
  const forged = parseJwt(`${none}.${Buffer.from("{}").toString("base64url")}.`);

  assert(forged && !isSignedBy(key, forged));
});

for (const text of ["", "a.b", "a.b.c", "a.b.c.d", "e30.W10.x", "bnVsbA.e30.x"]) {
  test(`parseJwt() rejects ${JSON.stringify(text)}`, () => assert.equal(parseJwt(text), undefined));
}

const token = signJwt(key, { sub: "a" });
const [head = "", body = "", signature = ""] = token.split(".");
const last = signature.at(-1) ?? "";
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const respellings: Readonly<Record<string, string>> = {
  "junk after the signature": `${token}~junk`,
  "a line break after the signature": `${token}\n`,
  "padding after the signature": `${token}==`,
  "junk within the signature": `${head}.${body}.${signature.slice(0, 5)}!${signature.slice(5)}`,
  "other spare bits at the end": `${token.slice(0, -1)}${alphabet[alphabet.indexOf(last) ^ 1]}`,
  "a space before the header": ` ${token}`,
  "padding after the claims": `${head}.${body}=.${signature}`,
  "a fourth part": `${token}.`,
  "more than 10 KiB": `${head}.${Buffer.from(JSON.stringify({ a: "x".repeat(10 * 1024) })).toString("base64url")}.`,
};
for (const [how, text] of Object.entries(respellings)) {
  test(`parseJwt() rejects a token with ${how}`, () => {
    assert(parseJwt(token));
    assert.equal(parseJwt(text), undefined);
  });
}

test("parseJwt() rejects a token with critical headers", () => {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const withHeader = (more: object) => `${part({ alg: "ES256", kid: key.id, ...more })}.${part({})}.${signature}`;

  assert(parseJwt(withHeader({ typ: "JWT" })));
  for (const crit of [["exp"], [], "exp", null]) assert.equal(parseJwt(withHeader({ crit })), undefined);
});

test("RSA keys sign with RS256", () => {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const rsa = signingKey(keyToPem(privateKey));
  const token = parseJwt(signJwt(rsa, {}));

  assert(token && isSignedBy(rsa, token));
  assert.equal(rsa.algorithm, "RS256");
});

test("jsonWebKeys() publishes keys that verify", () => {
  const [jwk] = jsonWebKeys([key]).keys;
  assert(jwk);
  const token = parseJwt(signJwt(key, {}));
  const published = verifyingKey(createPublicKey({ key: { ...jwk }, format: "jwk" }));

  assert.equal(jwk.kid, key.id);
  assert.equal("d" in jwk, false);
  assert(token && isSignedBy(published, token));
});
