import assert from "node:assert/strict";
import { test } from "node:test";
import { Node } from "#api/core/node.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import { runSchedulableEvents } from "./schedulable-events.ts";

test("a kubelet tells when its node is cordoned, once for each change, and nothing about other nodes", async () => {
  const informers = createFakeInformers();
  const told: string[] = [];
  const events = {
    event: (_about: object, _type: string, reason: string, message: string) => void told.push(`${reason}: ${message}`),
    flush: async () => {},
    [Symbol.asyncDispose]: async () => {},
  };
  const set = (name: string, unschedulable?: boolean, labels = {}) =>
    informers.put(Node, { metadata: { name, labels }, spec: unschedulable === undefined ? {} : { unschedulable } });
  set("a", true);
  const end = new AbortController();

  const running = runSchedulableEvents({ nodeName: "a", informers, events }, end.signal);
  set("a", true, { again: "1" });
  set("b", true);
  set("a");
  set("a", false);
  end.abort();
  await running;
  set("a", true);

  assert.deepEqual(told, [
    "NodeNotSchedulable: Node a status is now: NodeNotSchedulable",
    "NodeSchedulable: Node a status is now: NodeSchedulable",
  ]);
});
