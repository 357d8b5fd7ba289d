import assert from "node:assert/strict";
import { test } from "node:test";
import { type JwtAuthenticator } from "./authentication-config.ts";
import { checkRules, evaluateMappings } from "./claim-expressions.ts";
import { mapClaims } from "./map-claims.ts";

const claims = {
  sub: "jane",
  exp: 2000,
  nbf: 1000,
  roles: "dev,ops",
  "kubernetes.io": { pod: { name: "web" } },
  list: ["a", "", "b"],
  jti: "x",
};
const config = (change: Partial<JwtAuthenticator["claimMappings"]>, more: object = {}): JwtAuthenticator => ({
  issuer: { url: "https://issuer.test", audiences: ["a"] },
  claimMappings: { username: { expression: "'oidc:' + claims.sub" }, groups: {}, uid: {}, ...change },
  ...more,
});
const userOf = async (given: JwtAuthenticator, token: object = claims) => {
  const user = mapClaims(token as typeof claims, given, await evaluateMappings(given, token as typeof claims));
  await checkRules(given, token as typeof claims, user);
  return user;
};

test("expressions make a user of the claims", async () => {
  const user = await userOf(
    config({
      groups: { expression: "claims.roles.split(',') + claims.list" },
      uid: { expression: "claims['kubernetes.io'].pod.name" },
      extra: [
        { key: "example.org/pod", valueExpression: "claims.kubernetes__dot__io.pod.name" },
        { key: "example.org/none", valueExpression: "claims.?none.orValue('')" },
      ],
    }),
  );

  assert.deepEqual(user, {
    name: "oidc:jane",
    groups: ["dev", "ops", "a", "b"],
    uid: "web",
    extra: { "authentication.kubernetes.io/credential-id": ["JTI=x"], "example.org/pod": ["web"] },
  });
});

test("rules about claims and users that hold let a token pass", async () => {
  const rules = {
    claimValidationRules: [{ expression: "claims.exp - claims.nbf <= 86400.0" }],
    userValidationRules: [{ expression: "!user.username.startsWith('system:') && user.groups.size() == 0" }],
  };
  assert.equal((await userOf(config({}, rules))).name, "oidc:jane");
});

const refused: readonly [name: string, config: JwtAuthenticator, message: string | RegExp][] = [
  [
    "a name that is no text",
    config({ username: { expression: "claims.exp" } }),
    "oidc: error evaluating username claim expression: username claim expression must return a string",
  ],
  [
    "an empty name",
    config({ username: { expression: "''" } }),
    "oidc: empty username via CEL expression is not allowed",
  ],
  [
    "a claim that is not there",
    config({ username: { expression: "claims.none" } }),
    "oidc: error evaluating username claim expression: expression 'claims.none' resulted in error: no such key: none",
  ],
  [
    "groups that are numbers",
    config({ groups: { expression: "[claims.exp]" } }),
    "oidc: error evaluating group claim expression: expression must return a string or a list of strings",
  ],
  [
    "a rule that does not hold",
    config({}, { claimValidationRules: [{ expression: "claims.sub == 'joe'", message: "only joe" }] }),
    "oidc: error evaluating claim validation expression: validation expression 'claims.sub == 'joe'' failed: only joe",
  ],
  [
    "a user that is not allowed",
    config({}, { userValidationRules: [{ expression: "user.username.startsWith('x')", message: "must be x" }] }),
    "oidc: error evaluating user info validation rule: validation expression 'user.username.startsWith('x')' failed: must be x",
  ],
];
for (const [name, given, message] of refused) {
  test(`a token is refused for ${name}`, async () => {
    await assert.rejects(userOf(given), { name: "ClaimError", message });
  });
}

test("hostile claims stay within their limits and reach nothing else", async () => {
  const long = { ...claims, list: Array.from({ length: 2000 }, (_, index) => `g${index}`) };
  const product = "claims.list.map(a, claims.list.map(b, a + b)).size() > 0";
  const many = config({
    groups: { expression: "claims.list + claims.list + claims.list + claims.list + claims.list + claims.list" },
  });

  await assert.rejects(
    userOf(config({}, { claimValidationRules: [{ expression: product }] }), long),
    /cost limit exceeded/,
  );
  await assert.rejects(userOf(many, long), /more than 10000 strings/);
  const odd = JSON.parse('{"sub":"jane","__proto__":{"admin":true},"constructor":"x"}') as object;
  const rules = {
    claimValidationRules: [
      { expression: "!has(claims.admin) && claims.constructor == 'x' && !('toString' in claims)" },
    ],
  };
  assert.equal((await userOf(config({}, rules), odd)).name, "oidc:jane");
});
