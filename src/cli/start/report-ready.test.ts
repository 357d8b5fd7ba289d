import assert from "node:assert/strict";
import { test } from "node:test";
import { Node } from "#api/core/node.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { type FurtherPart, reportReady } from "./report-ready.ts";

/** A cluster of nodes `a` and `b`; `steps` are what the command sees. */
function start(further?: FurtherPart) {
  const clock = createVirtualClock(0);
  const informers = createFakeInformers();
  const steps: string[] = [];
  const stop = new AbortController();
  const progress = (step: string, state = "doing"): void => void steps.push(`${state}: ${step}`);
  const reporting = { progress, sinceMs: 0, signal: stop.signal, clock, further };
  const running = reportReady(informers, ["a", "b"], reporting).catch(() => {});
  const becomeReady = (name: string): void => {
    const lastHeartbeatTime = "1970-01-01T00:00:01Z";
    const conditions = [{ type: "Ready", status: "True" as const, lastHeartbeatTime }];
    informers.put(Node, { metadata: { name }, spec: {}, status: { conditions } });
  };
  const end = async (): Promise<void> => {
    stop.abort();
    await running;
  };
  return { clock, steps, becomeReady, end };
}

test("a cluster is ready when its last node is", async () => {
  const { steps, becomeReady, end } = start();

  becomeReady("a");
  becomeReady("b");
  await end();

  assert.deepEqual(steps, ["doing: node a is Ready", "ready: node b is Ready"]);
});

test("a cluster with a further part is ready when that can be used too", async () => {
  const usable = Promise.withResolvers<void>();
  const { clock, steps, becomeReady, end } = start({ what: "the rest", isReady: usable.promise });

  becomeReady("a");
  becomeReady("b");
  await clock.advance(1_000);
  assert.deepEqual(steps, ["doing: node a is Ready", "doing: node b is Ready"]);
  usable.resolve();
  await clock.advance(1);
  await end();

  assert.equal(steps.at(-1), "ready: the rest can be used");
});

test("a further part that never becomes ready does not hold up the command for ever", async () => {
  const { clock, steps, becomeReady, end } = start({ what: "the rest", isReady: new Promise(() => {}) });

  becomeReady("a");
  becomeReady("b");
  await clock.advance(0);
  await clock.advance(30_000);
  await end();

  assert.equal(steps.at(-1), "ready: the rest cannot be used yet: see the log");
});
