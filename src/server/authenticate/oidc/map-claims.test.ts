import assert from "node:assert/strict";
import { test } from "node:test";
import { type JwtPart } from "#lib/crypto/jwt.ts";
import { type JwtAuthenticator } from "./authentication-config.ts";
import { checkClaims, mapClaims } from "./map-claims.ts";

const config: JwtAuthenticator = {
  issuer: { url: "https://issuer.test", audiences: ["a", "b"] },
  claimMappings: {
    username: { claim: "sub", prefix: "oidc:" },
    groups: { claim: "roles", prefix: "oidc:" },
    uid: { claim: "oid" },
  },
  claimValidationRules: [{ claim: "hd", requiredValue: "example.com" }],
};
const claims: JwtPart = { sub: "jane", roles: ["dev", "ops"], oid: "7", hd: "example.com", jti: "x" };
const byEmail = { ...config, claimMappings: { username: { claim: "email", prefix: "" }, groups: {}, uid: {} } };

test("mapClaims() makes a user of the claims", () => {
  assert.deepEqual(mapClaims(claims, config), {
    name: "oidc:jane",
    groups: ["oidc:dev", "oidc:ops"],
    uid: "7",
    extra: { "authentication.kubernetes.io/credential-id": ["JTI=x"] },
  });
  assert.deepEqual(mapClaims({ ...claims, roles: "dev" }, config).groups, ["oidc:dev"]);
  assert.deepEqual(mapClaims({ email: "j@x", hd: "example.com" }, byEmail), { name: "j@x", groups: [] });
  assert.equal(mapClaims({ email: "j@x", email_verified: true, hd: "example.com" }, byEmail).name, "j@x");
});

const refused: readonly (readonly [name: string, change: JwtPart, message: RegExp, JwtAuthenticator?])[] = [
  ["no name", { sub: undefined }, /parse username claims "sub": claim not present/],
  ["an empty name", { sub: "" }, /username claim "sub" is empty/],
  ["a name that is a list", { sub: ["jane"] }, /it is not a string/],
  ["groups that are objects", { roles: [{ name: "dev" }] }, /parse groups claim "roles"/],
  ["a uid that is a number", { oid: 7 }, /parse uid claim "oid"/],
  ["a required claim of another value", { hd: "evil.com" }, /Got = evil.com, want = example.com/],
  ["a required claim in a list", { hd: ["example.com"] }, /parse claim "hd"/],
  ["an address that is not verified", { email: "a@b", email_verified: false }, /email not verified/, byEmail],
  ["an address verified in words", { email: "a@b", email_verified: "true" }, /email not verified/, byEmail],
];
for (const [name, change, message, settings = config] of refused) {
  test(`mapClaims() refuses ${name}`, () => {
    const entries = Object.entries({ ...claims, ...change }).filter(([, value]) => value !== undefined);
    assert.throws(() => mapClaims(Object.fromEntries(entries), settings), { name: "ClaimError", message });
  });
}

test("mapClaims() refuses a required claim that only the prototype has", () => {
  const rule = { ...config, claimValidationRules: [{ claim: "constructor", requiredValue: "" }] };
  assert.throws(() => mapClaims(claims, rule), /required claim constructor not present/);
});

const now = 1_000_000_000;
const valid = { iss: "https://issuer.test", aud: "b", exp: now / 1000 + 1 };
const times: readonly (readonly [name: string, change: JwtPart, message: RegExp | undefined])[] = [
  ["a valid token", {}, undefined],
  ["one of several audiences", { aud: ["x", "a"] }, undefined],
  ["a token for later, but within five minutes", { nbf: now / 1000 + 299 }, undefined],
  ["another issuer", { iss: "https://issuer.test/" }, /different provider/],
  ["another audience", { aud: "c" }, /expected audience/],
  ["no audience", { aud: undefined }, /expected audience/],
  ["an expired token", { exp: now / 1000 }, /expired/],
  ["no expiry", { exp: undefined }, /expired/],
  ["an expiry in words", { exp: "2099" }, /expired/],
  ["a token for later", { nbf: now / 1000 + 301 }, /not before/],
];
for (const [name, change, message] of times) {
  test(`checkClaims() ${message ? "refuses" : "accepts"} ${name}`, () => {
    const check = () => checkClaims({ ...valid, ...change }, config, now);
    if (message) assert.throws(check, { message });
    else check();
  });
}
