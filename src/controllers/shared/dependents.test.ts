import assert from "node:assert/strict";
import { test } from "node:test";
import { Deployment } from "#api/apps/deployment.ts";
import { ReplicaSet } from "#api/apps/replica-set.ts";
import { type LabelSelector } from "#api/meta/label-selector.ts";
import { ownerRefTo } from "#api/meta/owner.ts";
import { type InputOf } from "#api/resource.ts";
import { build } from "#testing/build.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import { adopters } from "./dependents.ts";

const web = { app: "web" };
const template = { metadata: { labels: web }, spec: { containers: [{ name: "c", image: "i" }] } };
const deployment = (name: string, selector: LabelSelector) =>
  build(Deployment, { metadata: { name }, spec: { selector, template } });
const owner = deployment("web", { matchLabels: web });
const set = (metadata: InputOf<ReplicaSet>["metadata"]) =>
  build(ReplicaSet, {
    metadata: { name: "set", labels: web, ...metadata },
    spec: { selector: { matchLabels: web }, template },
  });

const orphan = set({});
const owned = set({ ownerReferences: [ownerRefTo(Deployment, owner)] });
const changes = [
  { name: "wakes for an orphan that is new", object: orphan, wakes: ["web"] },
  {
    name: "wakes for an orphan whose labels have changed",
    previous: set({ labels: {} }),
    object: orphan,
    wakes: ["web"],
  },
  { name: "wakes for an orphan that had an owner", previous: owned, object: orphan, wakes: ["web"] },
  { name: "lets an orphan be that changed in other ways", previous: set({ annotations: { a: "b" } }), object: orphan },
  { name: "lets an orphan with other labels be", object: set({ labels: { app: "other" } }) },
  { name: "lets an orphan of another namespace be", object: set({ namespace: "other" }) },
  { name: "lets an orphan that is being deleted be", object: set({ deletionTimestamp: "2026-01-01T08:00:00Z" }) },
  { name: "leaves one that has an owner to that owner", object: owned },
];

for (const { name, previous, object, wakes = [] } of changes) {
  test(`adopters() ${name}`, () => {
    const informers = createFakeInformers();
    informers.put(Deployment, owner);
    informers.put(Deployment, deployment("other", { matchLabels: { app: "another" } }));
    // It would match everything, so it must match nothing.
    informers.put(Deployment, deployment("empty", {}));
    const change = { type: "put", object, previous, trace: undefined } as const;

    const woken = [...adopters(change, informers.of(Deployment), ({ spec }) => spec.selector)];

    assert.deepEqual(
      woken.map((wake) => wake.name),
      wakes,
    );
  });
}
