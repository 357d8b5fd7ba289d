import assert from "node:assert/strict";
import { test } from "node:test";
import { type Pod } from "#api/core/pod.ts";
import { neverAborted } from "#lib/async/tasks.ts";
import { silentLog } from "#lib/process/log.ts";
import { makePod } from "#testing/scheduling.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { bindPod } from "../binding/bind.ts";
import { WaitingPods } from "../binding/waiting-pods.ts";
import { type SchedulerPlugin } from "../framework.ts";
import { coscheduling } from "./coscheduling.ts";
import { minLabel, nameLabel } from "./groups.ts";

const member = (name: string, min = "2", group = "a"): Pod =>
  makePod(name, { labels: { [nameLabel]: group, [minLabel]: min } });

function setup() {
  const clock = createVirtualClock();
  const waiting = new WaitingPods(clock);
  const plugin = coscheduling({ permitWaitingTimeSeconds: 20 });
  const bound: string[] = [];
  const binder: SchedulerPlugin = { name: "Binder", bind: async ({ metadata }) => bound.push(metadata.name) > 0 };
  const bind = (pod: Pod) =>
    bindPod([plugin, binder], {
      pod,
      node: "a",
      signal: neverAborted,
      waiting,
      aside: (wait) => wait(neverAborted),
      log: silentLog,
    });
  const see = (...pods: Pod[]) => {
    for (const object of pods) plugin.observe?.({ type: "put", object, previous: undefined, trace: undefined });
  };
  return { clock, waiting, plugin, bound, bind, see };
}

test("Coscheduling keeps pods out of the queue until enough of their group are there", () => {
  const { plugin, see } = setup();
  const [one, two] = [member("one"), member("two")];
  see(one);
  assert.equal(plugin.preEnqueue?.(one), "waiting for 2 pods of group default/a, there are 1");
  assert.equal(plugin.preEnqueue?.(makePod("free")), undefined);
  see(two);
  assert.equal(plugin.preEnqueue?.(one), undefined);
  plugin.observe?.({ type: "delete", object: two, trace: undefined });
  assert.equal(plugin.preEnqueue?.(one), "waiting for 2 pods of group default/a, there are 1");
});

for (const min of ["0", "-1", "10001", "1e3", "two", ""]) {
  test(`Coscheduling refuses a group of ${JSON.stringify(min)} pods`, () => {
    const { plugin } = setup();

    assert.equal(plugin.preEnqueue?.(member("one", min)), `label ${minLabel} must be a whole number from 1 to 10000`);
  });
}

test("Coscheduling lets all go when the last one has a node", async () => {
  const { waiting, bound, bind } = setup();

  const first = bind(member("one"));
  while (waiting.size === 0) await Promise.resolve();
  assert.deepEqual(bound, []);
  const failures = await Promise.all([first, bind(member("two"))]);

  assert.deepEqual(
    [failures, bound.toSorted()],
    [
      [undefined, undefined],
      ["one", "two"],
    ],
  );
});

test("Coscheduling gives up after a while, and with one pod all that wait", async () => {
  const { clock, waiting, bound, bind } = setup();

  const failures = [bind(member("one", "3")), bind(member("two", "3"))];
  while (waiting.size < 2) await Promise.resolve();
  await clock.advance(20_000);

  const messages = (await Promise.all(failures)).map((failure) => failure?.message);
  assert.equal(messages[0], "rejected due to timeout after waiting 20s at plugin Coscheduling");
  assert.match(messages[1] ?? "", /^(rejected due to timeout|another pod of group default\/a was rejected)/);
  assert.deepEqual([bound, waiting.size], [[], 0]);
});

test("Coscheduling gives up at once if a pod of the group fits nowhere", async () => {
  const { waiting, plugin, bind } = setup();

  const failure = bind(member("one"));
  while (waiting.size === 0) await Promise.resolve();
  await plugin.postFilter?.({ pod: member("two"), rejections: new Map(), makeRoom: async () => undefined });

  assert.equal((await failure)?.message, "another pod of group default/a fits on no node");
});
