import assert from "node:assert/strict";
import { test } from "node:test";
import { type Client } from "#client/client.ts";
import { neverAborted } from "#lib/async/tasks.ts";
import { silentLog } from "#lib/process/log.ts";
import { makePod } from "#testing/scheduling.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { type SchedulerPlugin } from "../framework.ts";
import { bindPod } from "./bind.ts";
import { Expectation } from "./expectation.ts";
import { WaitingPods } from "./waiting-pods.ts";

/** Binds a pod to the node a. Returns what was written into its status, and whether the pod could be bound. */
async function bind(plugin: Partial<SchedulerPlugin>, pod = makePod("p")) {
  const written: unknown[] = [];
  const patch = async (_resource: unknown, _ref: unknown, { body }: { body: { status: unknown } }) =>
    void written.push(body.status);
  const deps = { client: { patch } as unknown as Client, log: silentLog };
  const expectation = new Expectation(deps, pod, { node: "a", signal: neverAborted });
  const plugins: SchedulerPlugin[] = [
    { name: "Own", ...plugin },
    { name: "Binder", bind: async () => true },
  ];
  const waiting = new WaitingPods(createVirtualClock());
  const error = await bindPod(plugins, {
    pod,
    node: "a",
    signal: neverAborted,
    waiting,
    aside: (wait) => wait(neverAborted),
    expectation,
    log: silentLog,
  });
  if (error) await expectation.takeBack();
  return { written, isBound: error === undefined };
}

const noted = { nominatedNodeName: "a" };
const removed = { nominatedNodeName: null };
const cases: { name: string; plugin: Partial<SchedulerPlugin>; written: object[]; isBound?: boolean }[] = [
  { name: "is bound at once", plugin: {}, written: [] },
  { name: "waits for what a plugin does first", plugin: { preBind: async () => undefined }, written: [noted] },
  { name: "waits for what others do", plugin: { untilReady: () => async () => undefined }, written: [noted] },
  {
    name: "waits twice",
    plugin: { preBind: async () => undefined, untilReady: () => async () => undefined },
    written: [noted],
  },
  {
    name: "waits for permission",
    plugin: {
      permit(pod, _node, waiting) {
        queueMicrotask(() => waiting.byUid(pod.metadata.uid)?.allow("Own"));
        return { waitMs: 1000 };
      },
    },
    written: [noted],
  },
  {
    name: "waits in vain",
    plugin: { preBind: () => Promise.reject(new Error("no volume")) },
    written: [noted, removed],
    isBound: false,
  },
  {
    name: "is refused at once",
    plugin: { permit: () => ({ reasons: ["no"], isFinal: false }) },
    written: [],
    isBound: false,
  },
];
for (const { name, plugin, written, isBound = true } of cases) {
  test(`the status of a pod that ${name} names ${written.length > 0 ? "the node meanwhile" : "no node"}`, async () => {
    assert.deepEqual(await bind(plugin), { written, isBound });
  });
}

test("the status of a pod that names the node already is not written again", async () => {
  const pod = makePod("p", { status: { nominatedNodeName: "a" } });

  assert.deepEqual((await bind({ preBind: async () => undefined }, pod)).written, []);
});
