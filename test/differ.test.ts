import assert from "node:assert/strict";
import { test } from "node:test";
import { allResources } from "#api/all.ts";
import { compareAnswers } from "../bench/differ/compare.ts";
import { decodeAnswer } from "../bench/differ/decode.ts";
import { planAll } from "../bench/differ/plan.ts";
import { allSamples } from "../bench/differ/samples/all.ts";
import { type Answer } from "../bench/differ/step.ts";

const answer = (code: number, body: object, warnings: readonly string[] = []): Answer => ({
  code,
  type: "application/json",
  warnings,
  allow: "",
  body: Buffer.from(JSON.stringify(body)),
});
const kindsOf = (upstream: Answer, ours: Answer) =>
  compareAnswers(upstream, ours, decodeAnswer).map(({ kind }) => kind);

const refused = (...causes: object[]) =>
  answer(422, { kind: "Status", code: 422, reason: "Invalid", details: { causes } });
const cause = { field: "spec.a", reason: "FieldValueInvalid", message: 'Invalid value: "x": no' };

test("the comparison finds every kind of difference", () => {
  const pod = { kind: "Pod", metadata: { name: "a" }, spec: { a: 1 } };

  assert.deepEqual(kindsOf(answer(200, pod), answer(200, { ...pod, spec: { a: 2 } })), ["object spec.a number/number"]);
  assert.deepEqual(kindsOf(answer(200, pod), answer(201, pod)), ["code 200, ours 201"]);
  assert.deepEqual(kindsOf(answer(200, pod, ['299 - "old"']), answer(200, pod)), ["warning missing N - …"]);
  assert.deepEqual(kindsOf(refused(cause), refused()), [
    "cause missing spec.a: FieldValueInvalid: Invalid value: …: no",
  ]);
  assert.deepEqual(kindsOf(refused(cause, cause), refused(cause)), ["repeated causes"]);
});

test("the comparison does not see what two servers cannot agree on", () => {
  const pod = (uid: string, resourceVersion: string) => ({
    kind: "Pod",
    metadata: { name: "a", uid, resourceVersion, creationTimestamp: new Date().toISOString() },
  });

  assert.deepEqual(kindsOf(answer(200, pod("1", "5")), answer(200, pod("2", "77"))), []);
});

test("the comparison tries every kind, plans at least 10,000 requests, and plans the same ones for the same seed", () => {
  const plan = () => planAll({ seed: 7, perKind: 40, label: "x" });
  const first = plan();
  const steps = first.flatMap(({ steps, readOnly = [], after = [] }) => [...steps, ...readOnly, ...after]);
  const tried = new Set(allSamples.map(({ kind }) => kind));

  const missing = allResources.map(({ kind }) => kind).filter((kind) => !tried.has(kind));

  assert.deepEqual(missing, ["Binding"]);
  assert.ok(steps.length >= 10_000, `${steps.length} requests`);
  assert.deepEqual(plan(), first);
});
