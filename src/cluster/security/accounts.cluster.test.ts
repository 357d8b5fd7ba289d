import assert from "node:assert/strict";
import { test } from "node:test";
import { SelfSubjectReview } from "#api/authentication/self-subject-review.ts";
import { Namespace } from "#api/core/namespace.ts";
import { Secret } from "#api/core/secret.ts";
import { ServiceAccount } from "#api/core/service-account.ts";
import { runTogether } from "#lib/async/tasks.ts";
import { signingKey, signJwt } from "#lib/crypto/jwt.ts";
import { createKey, keyToPem } from "#lib/crypto/x509.ts";
import { type IssuerKey } from "#server/authenticate/oidc/issuer-keys.ts";
import { makeFiles, startPlane } from "./security.suite.ts";

const publicPem = (pem: string): string => signingKey(pem).publicKey.export({ type: "spki", format: "pem" }).toString();

test("tokens in Secrets are filled in, accepted, and gone with their account", async () => {
  await using files = await makeFiles();
  await using started = await startPlane({}, files.dir);
  const { plane, admin } = started;
  const stop = new AbortController();
  const running = runTogether(stop.signal, [(signal) => plane.run(signal)]);
  const place = { namespace: "shop", name: "web-token" };
  await admin.create(Namespace, { metadata: { name: "shop" } });
  await admin.create(ServiceAccount, { metadata: { namespace: "shop", name: "web" } });
  await admin.create(Secret, {
    metadata: { ...place, annotations: { "kubernetes.io/service-account.name": "web" } },
    type: "kubernetes.io/service-account-token",
  });
  const secrets = plane.api.informers.of(Secret);
  const until = async <T>(find: () => T | undefined | false): Promise<T> => {
    for (;;) {
      const found = find();
      if (found) return found;
      await new Promise((resolve) => setImmediate(resolve));
    }
  };

  const token = await until(() => secrets.get(place)?.data?.token);
  const client = started.withToken(Buffer.from(token, "base64").toString());
  const { status } = await client.create(SelfSubjectReview, { metadata: {} });
  await admin.delete(ServiceAccount, { namespace: "shop", name: "web" });
  await until(() => !secrets.get(place));

  assert.equal(status.userInfo?.username, "system:serviceaccount:shop:web");
  await assert.rejects(client.create(SelfSubjectReview, { metadata: {} }), { code: 401 });
  stop.abort();
  await running;
});

test("keys can be replaced while tokens of the old one are valid, and others find both", async () => {
  await using files = await makeFiles();
  const [old, young, foreign] = [createKey(), createKey(), createKey()].map(keyToPem);
  assert(old && young && foreign);
  const accounts = {
    issuers: ["https://new.test", "https://old.test"],
    signingKeyFile: await files.write("new.key", young),
    keyFiles: [await files.write("keys.pem", `${publicPem(old)}${publicPem(young)}`)],
    maxExpirationSeconds: 3600,
  };
  await using started = await startPlane({ accounts }, files.dir);
  const { admin } = started;
  const account = await admin.create(ServiceAccount, { metadata: { namespace: "default", name: "web" } });
  const path = "/api/v1/namespaces/default/serviceaccounts/web/token";
  const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: 7200 } };
  const { body } = await admin.raw("POST", path, { body: Buffer.from(JSON.stringify(request)) });
  const { status, spec } = JSON.parse(Buffer.from(body).toString()) as { status: { token: string }; spec: object };
  const claims = JSON.parse(Buffer.from(status.token.split(".")[1] ?? "", "base64url").toString()) as { exp: number };
  const before = { ...claims, iss: "https://old.test", aud: ["https://old.test"] };
  const whoHas = async (token: string) =>
    (await started.withToken(token).create(SelfSubjectReview, { metadata: {} })).status.userInfo?.uid;
  const documentAt = async (path: string) => {
    const { body, headers } = await admin.raw("GET", path);
    return {
      type: headers["content-type"],
      value: JSON.parse(Buffer.from(body).toString()) as Record<string, unknown>,
    };
  };

  assert.equal(await whoHas(status.token), account.metadata.uid);
  assert.equal(await whoHas(signJwt(signingKey(old), before)), account.metadata.uid);
  await assert.rejects(whoHas(signJwt(signingKey(foreign), before)), { code: 401 });
  await assert.rejects(whoHas(signJwt(signingKey(old), { ...before, iss: "https://other.test" })), { code: 401 });
  assert.deepEqual((spec as { expirationSeconds: number }).expirationSeconds, 3600);
  const { value: configuration } = await documentAt("/.well-known/openid-configuration");
  assert.equal(configuration.issuer, "https://new.test");
  assert.equal(configuration.jwks_uri, "https://new.test/openid/v1/jwks");
  const { type, value } = await documentAt("/openid/v1/jwks");
  assert.equal(type, "application/jwk-set+json");
  assert.equal((value.keys as IssuerKey[]).length, 2);
});

test("a server does not start with a file that has no key", async () => {
  await using files = await makeFiles();
  const file = await files.write("not-a.key", "hello");

  await assert.rejects(startPlane({ accounts: { keyFiles: [file] } }, files.dir), { message: /not-a.key has no key/ });
  await assert.rejects(startPlane({ accounts: { signingKeyFile: file } }, files.dir), {
    name: "ConfigFileError",
    message: /not-a.key has no private key in PEM/,
  });
});
