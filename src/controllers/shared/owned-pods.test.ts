import assert from "node:assert/strict";
import { test } from "node:test";
import { ReplicaSet } from "#api/apps/replica-set.ts";
import { build } from "#testing/build.ts";
import { podFrom } from "./owned-pods.ts";

const labels = { app: "web", color: "red" };
const set = build(ReplicaSet, {
  metadata: { name: "web" },
  spec: {
    selector: { matchLabels: { app: "web" } },
    template: { metadata: { labels }, spec: { containers: [{ name: "c", image: "i" }] } },
  },
});

test("podFrom() takes labels and spec from the template and names the owner as controller", () => {
  const made = podFrom(ReplicaSet, set, set.spec.template);

  assert.equal(made.metadata.generateName, "web-");
  assert.deepEqual(made.metadata.labels, { app: "web", color: "red" });
  assert.deepEqual(made.metadata.ownerReferences, [
    {
      apiVersion: "apps/v1",
      kind: "ReplicaSet",
      name: "web",
      uid: "uid-web",
      controller: true,
      blockOwnerDeletion: true,
    },
  ]);
});
