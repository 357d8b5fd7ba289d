import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "#api/core/config-map.ts";
import { type OwnerReference } from "#api/meta/object-meta.ts";
import { type ApiObject } from "#api/resource.ts";
import { build } from "#testing/build.ts";
import { type Owners, planCollection } from "./plan-collection.ts";

const map = (name: string, owners: readonly OwnerReference[] = [], finalizers: readonly string[] = []) => ({
  metadata: { name, namespace: "default", ownerReferences: [...owners], finalizers: [...finalizers] },
});

const reference = (uid: string): OwnerReference => ({ apiVersion: "v1", kind: "ConfigMap", name: uid, uid });
const object = (finalizers: readonly string[] = []) => build(ConfigMap, map("x", [], finalizers));
const deleting = build(ConfigMap, {
  metadata: { name: "y", deletionTimestamp: "2026-01-01T08:00:00Z", finalizers: ["foregroundDeletion"] },
});

const [one, two] = [reference("1"), reference("2")];
const plans: {
  name: string;
  owners: Partial<Owners>;
  finalizers?: string[];
  dependents?: ApiObject[];
  expected: ReturnType<typeof planCollection>;
}[] = [
  { name: "keeps an object with an owner", owners: { solid: [one] }, expected: { type: "keep" } },
  {
    name: "unlinks owners that are gone or being deleted",
    owners: { solid: [one], waiting: [two], dangling: [reference("3")] },
    expected: { type: "unlink", uids: ["3", "2"] },
  },
  {
    name: "deletes an object that has lost its last owner",
    owners: { dangling: [one] },
    expected: { type: "delete", policy: "Background", unblock: false },
  },
  {
    name: "honours the orphan policy",
    owners: { dangling: [one] },
    finalizers: ["orphan"],
    expected: { type: "delete", policy: "Orphan", unblock: false },
  },
  {
    name: "deletes a blocking object with dependents in the foreground",
    owners: { waiting: [one] },
    dependents: [object()],
    expected: { type: "delete", policy: "Foreground", unblock: false },
  },
  {
    name: "breaks a cycle of blocking owners",
    owners: { waiting: [one] },
    dependents: [deleting],
    expected: { type: "delete", policy: "Foreground", unblock: true },
  },
];

for (const { name, owners, finalizers, dependents = [], expected } of plans) {
  test(`planCollection() ${name}`, () => {
    const all = { solid: [], dangling: [], waiting: [], ...owners };

    assert.deepEqual(planCollection(object(finalizers), all, dependents), expected);
  });
}
