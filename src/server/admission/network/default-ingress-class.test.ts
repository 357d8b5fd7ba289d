import assert from "node:assert/strict";
import { test } from "node:test";
import { Ingress } from "#api/networking/ingress.ts";
import { IngressClass } from "#api/networking/ingress-class.ts";
import { requestFor, setUp } from "../admission.suite.ts";

async function classOf(spec: { ingressClassName?: string } = {}, annotations: Record<string, string> = {}) {
  const { informers, admit } = setUp();
  const isDefault = { "ingressclass.kubernetes.io/is-default-class": "true" };
  for (const [name, day, annotations] of [
    ["a", 1, isDefault],
    ["b", 2, isDefault],
    ["c", 3, {}],
  ] as const) {
    const creationTimestamp = `2026-01-0${day}T00:00:00Z`;
    informers.put(IngressClass, { metadata: { name, annotations, creationTimestamp }, spec: { controller: "x/y" } });
  }
  const ingress = { metadata: { name: "web", namespace: "shop", annotations }, spec };
  await admit(requestFor(Ingress, ingress));
  return ingress.spec.ingressClassName;
}

test("an ingress without a class gets the newest default one", async () => {
  assert.equal(await classOf(), "b");
});

test("an ingress that names a class, also by annotation, keeps what it says", async () => {
  assert.equal(await classOf({ ingressClassName: "a" }), "a");
  assert.equal(await classOf({}, { "kubernetes.io/ingress.class": "a" }), undefined);
});
