import assert from "node:assert/strict";
import { test } from "node:test";
import { infoOf, makeNode, makePod, podKey, snapshotOf } from "#testing/scheduling.ts";
import { Judge } from "../judge.ts";
import { type PodSet } from "../topology/topology.ts";
import { WhatIf } from "./what-if.ts";

const everyPod: PodSet = { key: "every pod", has: () => true };

test("WhatIf leaves counts right that were first asked for while it existed", () => {
  const there = makePod("there", { nodeName: "a" });
  const coming = makePod("coming");
  const snapshot = snapshotOf([makeNode("a")], [there]);
  const info = infoOf(snapshot, "a");
  const count = (): number | undefined => snapshot.topology.counts(everyPod)[info.slot];
  {
    using node = new WhatIf(
      { plugins: [], snapshot, judge: Judge.for(makePod("new"), [], snapshot) },
      makePod("new"),
      info,
    );
    node.add(podKey(coming), coming);
    assert.equal(count(), 2);
    node.remove(podKey(there), there);
    assert.equal(count(), 1);
    node.remove(podKey(coming), coming);
    assert.equal(count(), 0);
  }
  assert.equal(count(), 1);
});
