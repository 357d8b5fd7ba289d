import assert from "node:assert/strict";
import { test } from "node:test";
import { parseConfig } from "#server/config/config-file.ts";
import { authenticationConfig } from "./authentication-config.ts";

const issuer = { url: "https://issuer.test", audiences: ["a"] };
const claimMappings = { username: { claim: "sub", prefix: "" } };
const parse = (part: object) =>
  parseConfig(
    authenticationConfig(["https://own.test"]),
    JSON.stringify({ apiVersion: "apiserver.config.k8s.io/v1", kind: "AuthenticationConfiguration", ...part }),
    "authn.yaml",
  );
const jwt = (change: object = {}) => ({ jwt: [{ issuer, claimMappings, ...change }] });
const withIssuer = (change: object) => jwt({ issuer: { ...issuer, ...change } });
const extra = (mapping: object) => jwt({ claimMappings: { ...claimMappings, extra: [mapping] } });
const named = (username: object) => jwt({ claimMappings: { username } });

test("authenticationConfig accepts issuers, none at all, and anonymous access to some paths", async () => {
  const { jwt: found } = await parse(jwt());
  assert.equal(found?.[0]?.claimMappings.username.prefix, "");
  await parse({});
  await parse(named({ expression: "claims.email_verified ? claims.email : ''" }));
  await parse(
    jwt({
      claimMappings: { username: { expression: "claims.email" }, groups: { expression: "claims.roles.split(',')" } },
      claimValidationRules: [{ expression: "claims.?email_verified.orValue(true) == true", message: "not verified" }],
      userValidationRules: [{ expression: "!user.username.startsWith('system:')" }],
    }),
  );
  await parse({ anonymous: { enabled: true, conditions: [{ path: "/livez" }] } });
});

const faults: readonly (readonly [part: object, message: string | RegExp])[] = [
  [{ jwt: Array(65).fill(jwt().jwt[0]) }, "jwt: Too many: 65: must have at most 64 items"],
  [withIssuer({ url: "" }), "jwt[0].issuer.url: Required value"],
  [withIssuer({ url: "http://a" }), 'jwt[0].issuer.url: Invalid value: "http://a": URL scheme must be https'],
  [withIssuer({ url: "https://u:p@a" }), /must not contain a username or password/],
  [withIssuer({ url: "https://a?b" }), /must not contain a query/],
  [withIssuer({ url: "https://a#b" }), /must not contain a fragment/],
  [withIssuer({ url: "issuer" }), /is not a URL/],
  [withIssuer({ url: "https://own.test" }), /must not overlap with disallowed issuers: \[https:\/\/own.test\]/],
  [withIssuer({ discoveryURL: "https://issuer.test/" }), /discoveryURL must be different from URL/],
  [withIssuer({ audiences: [] }), /jwt\[0\].issuer.audiences: Required value: at least one/],
  [withIssuer({ audiences: ["a", "a"], audienceMatchPolicy: "MatchAny" }), /audiences\[1\]: Duplicate value: "a"/],
  [withIssuer({ audiences: ["a", "b"] }), /audienceMatchPolicy must be MatchAny for multiple audiences/],
  [withIssuer({ audienceMatchPolicy: "All" }), /must be empty or MatchAny for single audience/],
  [withIssuer({ certificateAuthority: "x" }), /certificateAuthority: Invalid value: "<omitted>"/],
  [{ jwt: [...jwt().jwt, ...jwt().jwt] }, 'jwt[1].issuer.url: Duplicate value: "https://issuer.test"'],
  [named({}), "jwt[0].claimMappings.username: Required value: claim or expression is required"],
  [named({ claim: "sub" }), /username.prefix: Required value: prefix is required when claim is set/],
  [named({ claim: "sub", expression: "x" }), /claim and expression can't both be set/],
  [named({ expression: "claims.sub", prefix: "" }), /username.prefix: .*may not be specified when expression is set/],
  [named({ expression: "claims." }), /username.expression: Invalid value: "claims\.": compilation failed: ERROR: /],
  [named({ expression: "user.username" }), /username.expression: .*undeclared reference to 'user'/],
  [named({ expression: "claims.email" }), /username.expression: .*claims.email_verified must be used in claimMappings/],
  [named({ expression: "claims.?email.orValue('')" }), /claims.email_verified must be used/],
  [jwt({ claimValidationRules: [{}] }), /claimValidationRules\[0\]: Required value: claim or expression is required/],
  [
    jwt({ claimValidationRules: [{ expression: "claims.sub" }] }),
    /claimValidationRules\[0\].expression: Invalid value: "claims.sub": must evaluate to bool$/,
  ],
  [
    jwt({ claimValidationRules: [{ expression: "true", requiredValue: "a" }] }),
    /claimValidationRules\[0\].requiredValue: .*may not be specified when expression is set/,
  ],
  [
    jwt({ claimValidationRules: [{ expression: "true" }, { expression: "true" }] }),
    /claimValidationRules\[1\].expression: Duplicate value: "true"/,
  ],
  [jwt({ userValidationRules: [{}] }), /userValidationRules\[0\].expression: Required value/],
  [jwt({ userValidationRules: [{ expression: "user.nope == ''" }] }), /undefined field 'nope'/],
  [extra({ key: "team", valueExpression: "''" }), /extra\[0\].key: .*must be a domain-prefixed path/],
  [extra({ key: "a.k8s.io/x", valueExpression: "''" }), /extra\[0\].key: .*reserved for Kubernetes use/],
  [extra({ key: "example.org/Team", valueExpression: "''" }), /extra\[0\].key: .*must be lowercase/],
  [extra({ key: "example.org/team" }), /extra\[0\].valueExpression: Required value/],
  [extra({ key: "example.org/team", valueExpression: "1 +" }), /extra\[0\].valueExpression: .*compilation failed/],
  [
    { anonymous: { enabled: false, conditions: [{ path: "/a" }] } },
    /anonymous.conditions: .*enabled should be set to true when conditions are defined/,
  ],
];
for (const [part, message] of faults) {
  test(`authenticationConfig refuses ${JSON.stringify(part).slice(0, 100)}`, async () => {
    const expected = typeof message === "string" ? `authn.yaml: ${message}` : message;
    await assert.rejects(parse(part), { name: "ConfigFileError", message: expected });
  });
}
