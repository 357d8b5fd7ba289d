import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "#api/core/pod.ts";
import { build } from "#testing/build.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { endPods } from "./end-pods.ts";
import { planShutdown, planShutdownGrace } from "./plan-shutdown.ts";

const podOf = (name: string, priority?: number, seconds = 30) =>
  build(Pod, {
    metadata: { name, uid: name },
    spec: {
      containers: [{ name: "c", image: "i" }],
      terminationGracePeriodSeconds: seconds,
      ...(priority === undefined ? {} : { priority }),
    },
  });

test("planShutdownGrace() gives critical pods the last part of the time", () => {
  assert.deepEqual(planShutdownGrace({ allMs: 0, criticalMs: 0, byPriority: [] }), []);
  assert.deepEqual(planShutdownGrace({ allMs: 30_000, criticalMs: 10_000, byPriority: [] }), [
    { priority: 0, graceMs: 20_000 },
    { priority: 2_000_000_000, graceMs: 10_000 },
  ]);
});

test("planShutdown() puts a pod into the group of the highest priority that it reaches", () => {
  const byPriority = [1000, 0, 100].map((priority) => ({ priority, shutdownGracePeriodSeconds: priority + 1 }));
  const graces = planShutdownGrace({ allMs: 0, criticalMs: 0, byPriority });
  const pods = [podOf("below", -5), podOf("none"), podOf("99", 99), podOf("100", 100), podOf("2000", 2000)];
  const shown = planShutdown(pods, graces).map((group) => [
    group.graceMs,
    group.pods.map(({ metadata }) => metadata.name).join(" "),
  ]);
  assert.deepEqual(shown, [
    [1000, "below none 99"],
    [101_000, "100"],
    [1_001_000, "2000"],
  ]);
});

test("endPods() waits for each group, but not longer than its time", async () => {
  const clock = createVirtualClock();
  const startedMs = clock.now();
  const told: string[] = [];
  const gone = new Set<string>();
  const pods = [podOf("quick", 0, 5), podOf("stuck", 0), podOf("critical", 2_000_000_000)];
  const ended = endPods({
    clock,
    graces: planShutdownGrace({ allMs: 30_000, criticalMs: 10_000, byPriority: [] }),
    pods: () => pods,
    evict: (uid, { graceMs, reason }) => told.push(`${(clock.now() - startedMs) / 1000} ${uid} ${graceMs} ${reason}`),
    isCleanedUp: (uid) => gone.has(uid),
  });
  gone.add("quick");
  await clock.advance(20_000);
  assert.deepEqual(told, ["0 quick 5000 Terminated", "0 stuck 20000 Terminated", "20 critical 10000 Terminated"]);
  gone.add("critical");
  await clock.advance(100);
  await ended;
});
