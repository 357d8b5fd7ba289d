import assert from "node:assert/strict";
import { test } from "node:test";
import { ServiceAccount } from "#api/core/service-account.ts";
import { signingKey, signJwt } from "#lib/crypto/jwt.ts";
import { createKey, keyToPem } from "#lib/crypto/x509.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { serviceAccountTokens } from "./service-account.ts";

const issuer = "https://kubernetes.default.svc.cluster.local";
const key = signingKey(keyToPem(createKey()));
const account = { namespace: "shop", name: "web" };

function setUp(catchUp?: () => Promise<void>) {
  const informers = createFakeInformers();
  const clock = createVirtualClock();
  informers.put(ServiceAccount, { metadata: { ...account, uid: "sa-1" } });
  const settings = { issuers: [issuer], audiences: [issuer], keys: [key] };
  const tokens = serviceAccountTokens({ informers, clock, ...settings, ...(catchUp ? { catchUp } : {}) });
  const now = Math.floor(clock.now() / 1000);
  const claims = {
    iss: issuer,
    sub: "system:serviceaccount:shop:web",
    aud: [issuer],
    iat: now,
    nbf: now,
    exp: now + 3600,
    "kubernetes.io": { namespace: "shop", serviceaccount: { name: "web", uid: "sa-1" } },
  };
  return { informers, clock, claims, ask: async (token: string) => tokens.authenticateToken(token) };
}

test("serviceAccountTokens() returns the account of a token and its groups", async () => {
  const { claims, ask } = setUp();

  const identity = await ask(signJwt(key, claims));

  assert.equal(identity?.user.name, "system:serviceaccount:shop:web");
  assert.deepEqual(identity?.user.groups.slice(0, 2), ["system:serviceaccounts", "system:serviceaccounts:shop"]);
});

test("serviceAccountTokens() has no opinion on tokens of other issuers", async () => {
  const { claims, ask } = setUp();

  assert.equal(await ask(signJwt(key, { ...claims, iss: "https://elsewhere.test" })), undefined);
  assert.equal(await ask("no.jwt.atall"), undefined);
});

test("serviceAccountTokens() refuses forged and expired tokens, and those of an account that is gone", async () => {
  const { informers, clock, claims, ask } = setUp();
  const token = signJwt(key, claims);
  const refused = { message: "Unauthorized", code: 401 };
  await ask(token);

  await assert.rejects(ask(signJwt(signingKey(keyToPem(createKey())), claims)), refused);
  informers.delete(ServiceAccount, account);
  await assert.rejects(ask(token), refused);
  informers.put(ServiceAccount, { metadata: { ...account, uid: "sa-2" } });
  await assert.rejects(ask(token), refused);
  informers.put(ServiceAccount, { metadata: { ...account, uid: "sa-1" } });
  await ask(token);
  await clock.advance(2 * 3600_000);
  await assert.rejects(ask(token), refused);
});

test("serviceAccountTokens() looks again when this server has caught up with the others", async () => {
  let looks = 0;
  const { informers, claims, ask } = setUp(async () => {
    looks++;
    informers.put(ServiceAccount, { metadata: { ...account, uid: "sa-2" } });
  });
  const bound = { namespace: "shop", serviceaccount: { name: "web", uid: "sa-2" } };
  const token = signJwt(key, { ...claims, "kubernetes.io": bound });

  const answers = await Promise.all([ask(token), ask(token)]);

  assert.deepEqual(
    answers.map((identity) => identity?.user.uid),
    ["sa-2", "sa-2"],
  );
  assert.equal(looks, 1);
});

test("serviceAccountTokens() catches up for a refused token once in a while, and never for a forged one", async () => {
  let looks = 0;
  const { informers, clock, claims, ask } = setUp(async () => {
    looks++;
    throw new Error("no majority");
  });
  informers.delete(ServiceAccount, account);
  const token = signJwt(key, claims);
  const refused = { message: "Unauthorized", code: 401 };

  for (let n = 0; n < 3; n++) await assert.rejects(ask(token), refused);
  await assert.rejects(ask(signJwt(signingKey(keyToPem(createKey())), claims)), refused);
  assert.equal(looks, 1);
  await clock.advance(10_000);
  await assert.rejects(ask(token), refused);

  assert.equal(looks, 2);
});
