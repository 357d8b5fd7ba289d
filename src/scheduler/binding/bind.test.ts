import assert from "node:assert/strict";
import { test } from "node:test";
import { neverAborted } from "#lib/async/tasks.ts";
import { silentLog } from "#lib/process/log.ts";
import { makePod } from "#testing/scheduling.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { type SchedulerPlugin } from "../framework.ts";
import { bindPod } from "./bind.ts";
import { WaitingPods } from "./waiting-pods.ts";

async function bind(...plugins: SchedulerPlugin[]) {
  const failed: unknown[] = [];
  const error = await bindPod(plugins, {
    pod: makePod("p"),
    node: "a",
    signal: neverAborted,
    waiting: new WaitingPods(createVirtualClock()),
    aside: (wait) => wait(neverAborted),
    log: { ...silentLog, error: (_message, fields) => void failed.push(fields?.plugin) },
  });
  return { error, failed };
}

test("bindPod() undoes every reservation, even if a plugin fails to", async () => {
  const undone: string[] = [];
  const first: SchedulerPlugin = { name: "First", unreserve: () => void undone.push("First") };
  const broken: SchedulerPlugin = { name: "Broken", unreserve: () => Promise.reject(new Error("no server")) };
  const binder: SchedulerPlugin = { name: "Binder", bind: () => Promise.reject(new Error("no binding")) };

  const { error, failed } = await bind(first, broken, binder);

  assert.match(error?.message ?? "", /no binding$/);
  assert.deepEqual([undone, failed], [["First"], ["Broken"]]);
});

test("bindPod() has bound a pod, whatever plugins do about it afterwards", async () => {
  const told: string[] = [];
  const binder: SchedulerPlugin = { name: "Binder", bind: async () => true };
  const broken: SchedulerPlugin = { name: "Broken", postBind: () => assert.fail() };
  const last: SchedulerPlugin = { name: "Last", postBind: () => void told.push("Last") };

  const { error, failed } = await bind(binder, broken, last);

  assert.equal(error, undefined);
  assert.deepEqual([told, failed], [["Last"], ["Broken"]]);
});
