import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import { Secret } from "#api/core/secret.ts";
import { ServiceAccount } from "#api/core/service-account.ts";
import { build } from "#testing/build.ts";
import { planSignatures } from "./bootstrap-signer.ts";
import { planLegacyToken } from "./legacy-token-cleaner.ts";

const now = Date.parse("2026-03-01T12:00:00Z");
const day = 86_400_000;
const kubeconfig = "apiVersion: v1";

function tokenSecret(data: Readonly<Record<string, string>>, name = "bootstrap-token-abcdef"): Secret {
  const all = { "token-id": "abcdef", "token-secret": "0123456789abcdef", "usage-bootstrap-signing": "true", ...data };
  const encoded = Object.entries(all).map(([key, text]) => [key, Buffer.from(text).toString("base64")]);
  return build(Secret, {
    metadata: { namespace: "kube-system", name },
    type: "bootstrap.kubernetes.io/token",
    data: Object.fromEntries(encoded) as Record<string, string>,
  });
}

test("planSignatures() signs the content with each token that signs", () => {
  const info = { data: { kubeconfig, other: "kept", "jws-kubeconfig-gone00": "old" } };

  const { data, againMs } = planSignatures(info, [tokenSecret({ expiration: "2026-03-01T13:00:00Z" })], now);

  const header = Buffer.from('{"alg":"HS256","kid":"abcdef"}').toString("base64url");
  const signed = `${header}.${Buffer.from(kubeconfig).toString("base64url")}`;
  const signature = createHmac("sha256", "0123456789abcdef").update(signed).digest("base64url");
  assert.deepEqual(data, { kubeconfig, other: "kept", "jws-kubeconfig-abcdef": `${header}..${signature}` });
  assert.equal(againMs, 3_600_000);
});

const silent: readonly [string, Secret][] = [
  ["has expired", tokenSecret({ expiration: "2026-03-01T12:00:00Z" })],
  ["has a time that cannot be read", tokenSecret({ expiration: "tomorrow" })],
  ["is only for authentication", tokenSecret({ "usage-bootstrap-signing": "false" })],
  ["is in a Secret of another name", tokenSecret({}, "bootstrap-token-zzzzzz")],
  ["has an id that is no id", tokenSecret({ "token-id": "__proto__" }, "bootstrap-token-__proto__")],
  ["has no secret", tokenSecret({ "token-secret": "" })],
];
for (const [name, secret] of silent) {
  test(`planSignatures() does not sign with a token that ${name}`, () => {
    assert.deepEqual(planSignatures({ data: { kubeconfig } }, [secret], now).data, { kubeconfig });
  });
}

test("planSignatures() leaves a config map without content alone", () => {
  assert.deepEqual(planSignatures({ data: { a: "b" } }, [tokenSecret({})], now).data, { a: "b" });
});

const usedLabel = "kubernetes.io/legacy-token-last-used";
const invalidLabel = "kubernetes.io/legacy-token-invalid-since";
interface Legacy {
  readonly created?: string;
  readonly labels?: Record<string, string>;
  readonly listed?: string;
  readonly uid?: string;
}
const legacies: readonly [string, Legacy, ReturnType<typeof planLegacyToken>][] = [
  ["is marked if it was never used", {}, { invalidSince: "2026-03-01" }],
  ["is marked if it was used long ago", { labels: { [usedLabel]: "2026-01-01" } }, { invalidSince: "2026-03-01" }],
  ["stays if it was used lately", { labels: { [usedLabel]: "2026-01-30" } }, undefined],
  ["stays if nobody can read when it was used", { labels: { [usedLabel]: "never" } }, undefined],
  ["stays if it is new", { created: "2026-02-27T12:00:00Z" }, undefined],
  ["stays if its account does not list it", { listed: "other" }, undefined],
  ["stays if its account is another one", { uid: "uid-old" }, undefined],
  ["stays for a while after it was marked", { labels: { [invalidLabel]: "2026-02-20" } }, undefined],
  ["is deleted long after it was marked", { labels: { [invalidLabel]: "2026-01-01" } }, "delete"],
  ["is marked again if the mark is no date", { labels: { [invalidLabel]: "x" } }, { invalidSince: "2026-03-01" }],
];
for (const [name, { created = "2025-12-01T12:00:00Z", labels, listed = "t", uid = "uid-a" }, step] of legacies) {
  test(`a generated token ${name}`, () => {
    const annotations = { "kubernetes.io/service-account.name": "a", "kubernetes.io/service-account.uid": uid };
    const metadata = { name: "t", creationTimestamp: created, annotations, ...(labels ? { labels } : {}) };
    const account = build(ServiceAccount, { metadata: { name: "a" }, secrets: [{ name: listed }] });

    const planned = planLegacyToken(build(Secret, { metadata }), account, { nowMs: now, cleanUpMs: 30 * day });

    assert.deepEqual(planned, step);
  });
}
