import assert from "node:assert/strict";
import { test } from "node:test";
import { type Secret } from "#api/core/secret.ts";
import { type ServiceAccount } from "#api/core/service-account.ts";
import { planToken } from "./token.ts";

const options = { rootCa: "CA", sign: (claims: object) => JSON.stringify(claims) };
const base64 = (text: string) => Buffer.from(text).toString("base64");
const stored = { uid: "sa-1", resourceVersion: "1", creationTimestamp: "2026-01-01T08:00:00Z" };
const secretWith = (data: Record<string, string>, uid?: string): Secret => ({
  metadata: {
    ...stored,
    namespace: "shop",
    name: "web-token",
    annotations: {
      "kubernetes.io/service-account.name": "web",
      ...(uid ? { "kubernetes.io/service-account.uid": uid } : {}),
    },
  },
  type: "kubernetes.io/service-account-token",
  data,
});
const account: ServiceAccount = { metadata: { ...stored, namespace: "shop", name: "web" } };

test("planToken() fills in the token, the namespace and the authority", () => {
  const planned = planToken(secretWith({ mine: "eA==" }), account, options);

  assert(planned && planned !== "delete");
  assert.equal(planned.metadata?.annotations?.["kubernetes.io/service-account.uid"], "sa-1");
  const { token = "", ...rest } = planned.data ?? {};
  assert.deepEqual(rest, { mine: "eA==", "ca.crt": base64("CA"), namespace: base64("shop") });
  assert.deepEqual(JSON.parse(Buffer.from(token, "base64").toString()), {
    iss: "kubernetes/serviceaccount",
    "kubernetes.io/serviceaccount/namespace": "shop",
    "kubernetes.io/serviceaccount/secret.name": "web-token",
    "kubernetes.io/serviceaccount/service-account.name": "web",
    "kubernetes.io/serviceaccount/service-account.uid": "sa-1",
    sub: "system:serviceaccount:shop:web",
  });
});

test("planToken() keeps what is there, and follows the authority", () => {
  const data = { token: "dA==", namespace: base64("shop"), "ca.crt": base64("CA") };

  assert.equal(planToken(secretWith(data, "sa-1"), account, options), undefined);
  const renewed = planToken(secretWith(data, "sa-1"), account, { ...options, rootCa: "new" });
  assert(renewed && renewed !== "delete");
  assert.deepEqual(renewed.data, { ...data, "ca.crt": base64("new") });
});

test("planToken() deletes the token of an account that is gone, or was replaced", () => {
  assert.equal(planToken(secretWith({}), undefined, options), "delete");
  assert.equal(planToken(secretWith({}, "sa-0"), account, options), "delete");
});
