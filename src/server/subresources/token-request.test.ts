import assert from "node:assert/strict";
import { test } from "node:test";
import { type TokenRequest } from "#api/authentication/token-request.ts";
import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { Secret } from "#api/core/secret.ts";
import { ServiceAccount } from "#api/core/service-account.ts";
import { parseJwt, signingKey, signJwt } from "#lib/crypto/jwt.ts";
import { createKey, keyToPem } from "#lib/crypto/x509.ts";
import { serviceAccountTokens } from "#server/authenticate/service-account.ts";
import { tokenFile } from "#server/authenticate/token-file.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { openIdConfiguration, requestToken } from "./token-request.ts";
import { reviewSelf, reviewToken } from "./token-review.ts";

const issuer = "https://kubernetes.default.svc.cluster.local";
const audiences = [issuer];
const key = signingKey(keyToPem(createKey()));

function setUp() {
  const informers = createFakeInformers();
  const clock = createVirtualClock();
  const metadata = { name: "web", namespace: "shop" };
  informers.put(ServiceAccount, { metadata: { ...metadata, uid: "sa-1" } });
  informers.put(Node, { metadata: { name: "a", uid: "node-1" } });
  informers.put(Pod, {
    metadata: { ...metadata, uid: "pod-1" },
    spec: { containers: [], nodeName: "a", serviceAccountName: "web" },
  });
  const deps = { informers, clock, issuer, audiences, key };
  const tokens = serviceAccountTokens({ informers, clock, issuers: [issuer], audiences, keys: [key] });
  const warnings: string[] = [];
  const ask = (spec: Partial<TokenRequest["spec"]> = {}, part: Partial<TokenRequest["metadata"]> = {}, most = 0) =>
    requestToken(
      { ...deps, maxExpirationSeconds: most },
      {
        namespace: "shop",
        name: "web",
        request: {
          metadata: part,
          spec: { audiences: [], expirationSeconds: 3600, ...spec },
          status: { token: "", expirationTimestamp: "" },
        },
        warn: (message) => warnings.push(message),
      },
    );
  return { informers, clock, tokens, ask, warnings };
}
const boundToPod = { boundObjectRef: { kind: "Pod", apiVersion: "v1", name: "web" } };
const why = async (action: () => unknown): Promise<string> => {
  try {
    await action();
  } catch (error) {
    assert(error instanceof Error && error.message === "Unauthorized");
    return error.cause instanceof Error ? error.cause.message : "";
  }
  return "accepted";
};

test("a token has the same claims as upstream's", () => {
  const { ask, clock } = setUp();
  const { status, metadata, spec } = ask(boundToPod);
  const claims = parseJwt(status.token)?.claims;
  const now = clock.now() / 1000;

  assert.deepEqual(
    { ...claims, jti: typeof claims?.jti },
    {
      aud: audiences,
      exp: now + 3600,
      iat: now,
      iss: issuer,
      jti: "string",
      "kubernetes.io": {
        namespace: "shop",
        node: { name: "a", uid: "node-1" },
        pod: { name: "web", uid: "pod-1" },
        serviceaccount: { name: "web", uid: "sa-1" },
      },
      nbf: now,
      sub: "system:serviceaccount:shop:web",
    },
  );
  assert.deepEqual(spec.audiences, audiences);
  assert.deepEqual(metadata, {
    name: "web",
    namespace: "shop",
    uid: "sa-1",
    creationTimestamp: "2026-01-01T08:00:00Z",
  });
  assert.equal(status.expirationTimestamp, "2026-01-01T09:00:00Z");
});

test("the kubelet's token lives for a year and says when it should have been renewed", () => {
  const { ask, clock } = setUp();
  const { status } = ask({ ...boundToPod, expirationSeconds: 3607 });
  const claims = parseJwt(status.token)?.claims;

  assert.equal(claims?.exp, clock.now() / 1000 + 365 * 86_400);
  assert.deepEqual(Object(claims?.["kubernetes.io"]).warnafter, clock.now() / 1000 + 3607);
  assert.equal(status.expirationTimestamp, "2026-01-01T09:00:07Z");
});

const refusals: [string, Partial<TokenRequest["spec"]>, Partial<TokenRequest["metadata"]>, object][] = [
  [
    "a lifetime under ten minutes",
    { expirationSeconds: 599 },
    {},
    {
      code: 422,
      message: /spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes/,
    },
  ],
  [
    "a name that is not the account's",
    {},
    { name: "x" },
    { code: 422, message: /must match the service account name/ },
  ],
  [
    "a uid that is not the account's",
    {},
    { uid: "x" },
    { code: 409, message: /does not match the UID of the service/ },
  ],
  [
    "a pod that does not exist",
    { boundObjectRef: { kind: "Pod", apiVersion: "v1", name: "x" } },
    {},
    { code: 404, message: 'pods "x" not found' },
  ],
  [
    "a pod that was recreated",
    { boundObjectRef: { kind: "Pod", apiVersion: "v1", name: "web", uid: "old" } },
    {},
    {
      code: 409,
      message: /^Operation cannot be fulfilled on Pod "web": the UID in the bound object reference \(old\)/,
    },
  ],
  [
    "a kind that tokens cannot be bound to",
    { boundObjectRef: { kind: "Job", apiVersion: "batch/v1", name: "x" } },
    {},
    { code: 400, message: "cannot bind token to object of type batch/v1, Kind=Job" },
  ],
];
for (const [name, spec, metadata, error] of refusals) {
  test(`requestToken() refuses ${name}`, () => assert.throws(() => setUp().ask(spec, metadata), error));
}

test("requestToken() shortens a lifetime that is too long and warns", () => {
  const { ask, warnings } = setUp();

  assert.equal(ask({ expirationSeconds: 9000 }, {}, 7200).spec.expirationSeconds, 7200);
  assert.deepEqual(warnings, ["requested expiration of 9000 seconds shortened to 7200 seconds"]);
});

test("a token authenticates the account that it was issued for", async () => {
  const { ask, tokens } = setUp();
  const { token } = ask(boundToPod).status;
  const identity = await tokens.authenticateToken(token);
  const id = parseJwt(token)?.claims.jti;

  assert.deepEqual(identity?.user, {
    name: "system:serviceaccount:shop:web",
    uid: "sa-1",
    groups: ["system:serviceaccounts", "system:serviceaccounts:shop"],
    extra: {
      "authentication.kubernetes.io/credential-id": [`JTI=${id}`],
      "authentication.kubernetes.io/pod-name": ["web"],
      "authentication.kubernetes.io/pod-uid": ["pod-1"],
      "authentication.kubernetes.io/node-name": ["a"],
      "authentication.kubernetes.io/node-uid": ["node-1"],
    },
  });
  assert.equal((await tokens.authenticateToken(token))?.user, identity?.user);
});

test("a token is invalid after its expiry, even if it was verified before", async () => {
  const { ask, tokens, clock } = setUp();
  const { token } = ask().status;
  await tokens.authenticateToken(token);

  await clock.advance(3600_000 + 59_000);
  assert.equal(await why(() => tokens.authenticateToken(token)), "accepted");
  await clock.advance(2000);
  assert.equal(await why(() => tokens.authenticateToken(token)), "service account token has expired");
});

test("a token becomes invalid with its pod and with its account", async () => {
  const { ask, tokens, informers } = setUp();
  const bound = ask(boundToPod).status.token;
  const free = ask().status.token;
  await tokens.authenticateToken(bound);

  informers.delete(Pod, { namespace: "shop", name: "web" });
  assert.equal(await why(() => tokens.authenticateToken(bound)), "service account token has been invalidated");
  assert.equal(await why(() => tokens.authenticateToken(free)), "accepted");
  informers.put(ServiceAccount, { metadata: { name: "web", namespace: "shop", uid: "sa-2" } });
  assert.equal(
    await why(() => tokens.authenticateToken(free)),
    "service account UID (sa-2) does not match claim (sa-1)",
  );
});

test("a token for other audiences is invalid at the API server", async () => {
  const { ask, tokens } = setUp();
  const { token } = ask({ audiences: ["vault"] }).status;

  assert.equal(
    await why(() => tokens.authenticateToken(token)),
    `token audiences ["vault"] is invalid for the target audiences ["${issuer}"]`,
  );
  assert.deepEqual((await tokens.authenticateToken(token, ["vault", "x"]))?.audiences, ["vault"]);
});

test("a token with another key is refused, one of another issuer is ignored", async () => {
  const { tokens } = setUp();
  const other = signingKey(keyToPem(createKey()));

  assert.equal(
    await why(() => tokens.authenticateToken(signJwt(other, { iss: issuer }))),
    "invalid signature, no keys found",
  );
  assert.equal(
    await why(() => tokens.authenticateToken(signJwt({ ...other, id: key.id }, { iss: issuer }))),
    "invalid signature",
  );
  assert.equal(await tokens.authenticateToken(signJwt(other, { iss: "https://example.com" })), undefined);
  assert.equal(await tokens.authenticateToken("rubbish"), undefined);
});

test("a token in a Secret is valid as long as it is stored there", async () => {
  const { tokens, informers } = setUp();
  const token = signJwt(key, {
    iss: "kubernetes/serviceaccount",
    "kubernetes.io/serviceaccount/namespace": "shop",
    "kubernetes.io/serviceaccount/secret.name": "web-token",
    "kubernetes.io/serviceaccount/service-account.name": "web",
    "kubernetes.io/serviceaccount/service-account.uid": "sa-1",
    sub: "system:serviceaccount:shop:web",
  });
  const secret = (data: Record<string, string>) =>
    informers.put(Secret, { metadata: { name: "web-token", namespace: "shop" }, data });

  assert.equal(await why(() => tokens.authenticateToken(token)), "Token has been invalidated");
  secret({ token: Buffer.from(token).toString("base64") });
  assert.equal(await why(() => tokens.authenticateToken(token)), "accepted");
  secret({ token: "eA==" });
  assert.equal(await why(() => tokens.authenticateToken(token)), "Token does not match server's copy");
});

test("a TokenReview identifies the user of a token", async () => {
  const { ask, tokens } = setUp();
  const review = (token: string, asked: string[] = []) =>
    reviewToken(
      { tokens: [tokenFile(new Map([["static", { name: "jane", groups: ["dev"] }]])), tokens], audiences },
      { metadata: {}, spec: { token, audiences: asked }, status: { user: {} } },
    );

  const good = await review(ask({ audiences: ["vault"] }).status.token, ["vault"]);
  assert.equal(good.status.authenticated, true);
  assert.deepEqual(good.status.audiences, ["vault"]);
  assert.deepEqual(good.status.user.groups, [
    "system:serviceaccounts",
    "system:serviceaccounts:shop",
    "system:authenticated",
  ]);
  assert.deepEqual((await review("static")).status, {
    authenticated: true,
    user: { username: "jane", groups: ["dev", "system:authenticated"] },
    audiences,
  });
  assert.deepEqual((await review("static", ["vault"])).status, { user: {} });
  assert.deepEqual((await review("rubbish")).status, { user: {}, error: "invalid bearer token" });
  assert.match(
    (await review(ask().status.token, ["x"])).status.error ?? "",
    /^\[invalid bearer token, token audiences/,
  );
  await assert.rejects(review(""), { message: "token is required for TokenReview in authentication" });
});

test("a SelfSubjectReview identifies the caller", () => {
  const { clock } = setUp();
  const user = { name: "jane", groups: ["dev"], extra: { a: ["b"] } };

  assert.deepEqual(reviewSelf({ metadata: {}, status: { userInfo: {} } }, user, clock), {
    metadata: { creationTimestamp: "2026-01-01T08:00:00Z" },
    status: { userInfo: { username: "jane", groups: ["dev"], extra: { a: ["b"] } } },
  });
});

test("openIdConfiguration() describes how to verify tokens elsewhere", () => {
  assert.deepEqual(openIdConfiguration(issuer, `${issuer}/openid/v1/jwks`, [key]), {
    issuer,
    jwks_uri: `${issuer}/openid/v1/jwks`,
    response_types_supported: ["id_token"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: ["ES256"],
  });
});
