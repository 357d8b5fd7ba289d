import assert from "node:assert/strict";
import { test } from "node:test";
import { makePod } from "#testing/scheduling.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { type SchedulerPlugin } from "../framework.ts";
import { guard } from "./guard.ts";

const loops = (): never => {
  for (;;);
};

test("guard() keeps the hooks of a plugin, also of a class, under the configured name", () => {
  class Mine implements SchedulerPlugin {
    readonly name = "other";
    readonly weight = 4;
    readonly #word = "wait";
    preEnqueue() {
      return this.#word;
    }
  }
  const plugin = guard("Mine", new Mine(), createVirtualClock());

  assert.deepEqual(
    [plugin.name, plugin.weight, plugin.preEnqueue?.(makePod("p")), plugin.filter],
    ["Mine", 4, "wait", undefined],
  );
});

test("guard() keeps every hook", () => {
  const hook = () => undefined;
  const all: Required<Omit<SchedulerPlugin, "name" | "weight" | "retryOn">> = {
    ...{ follow: () => hook, preEnqueue: hook, groupOf: hook, observe: hook, queueSort: () => true, prepare: hook },
    ...{ looksAt: hook, basis: hook, candidates: hook, preFilter: hook, filter: hook, preScore: hook, score: () => 0 },
    ...{ normalize: hook, acrossNodes: hook, postFilter: async () => undefined, reserve: hook, unreserve: hook },
    ...{ permit: hook, preBind: hook, untilReady: hook, bind: async () => false, postBind: hook },
  };

  const { name: _, ...guarded } = guard("Mine", { name: "", ...all }, createVirtualClock());

  assert.deepEqual(Object.keys(guarded).sort(), Object.keys(all).sort());
});

test("guard() names the plugin and the hook in an error", () => {
  const plugin = guard("Mine", { name: "", looksAt: () => assert.fail("why not") }, createVirtualClock());

  assert.throws(() => plugin.looksAt?.(makePod("p")), {
    name: "PluginError",
    message: 'running looksAt of plugin "Mine": why not',
  });
});

test("guard() stops an endless loop and does not call the plugin again for a while", async () => {
  let calls = 0;
  const clock = createVirtualClock();
  const plugin = guard("Mine", { name: "", preEnqueue: () => (calls++ === 0 ? loops() : undefined) }, clock);
  const call = () => plugin.preEnqueue?.(makePod("p"));

  assert.throws(call, { message: 'running preEnqueue of plugin "Mine": did not return within 50 ms' });
  assert.throws(call, { message: /did not return within 50 ms: it is not called for a while$/ });
  assert.equal(calls, 1);
  await clock.advance(10_000);
  assert.equal(call(), undefined);
});

test("guard() takes a hint that fails as a reason to try again", () => {
  const plugin = guard("Mine", { name: "", retryOn: { node: () => assert.fail() } }, createVirtualClock());

  assert.equal(plugin.retryOn?.node?.(makePod("p"), {} as never), true);
});

const verdict = 'it must return undefined or { reasons: ["why"], isFinal: false }, not';
const wrong: { name: string; plugin: object; says: string }[] = [
  { name: "a text instead of a rejection", plugin: { filter: () => "hated" }, says: `filter: ${verdict} "hated"` },
  { name: "other fields", plugin: { filter: () => ({ reason: "x" }) }, says: `filter: ${verdict} {"reason":"x"}` },
  { name: "a promise", plugin: { filter: async () => undefined }, says: `filter: ${verdict} a promise` },
  {
    name: "a negative score",
    plugin: { score: () => -5 },
    says: "score: a score must be a number from 0 to 100, not -5",
  },
  {
    name: "no number",
    plugin: { score: () => Number.NaN },
    says: "score: a score must be a number from 0 to 100, not NaN",
  },
  {
    name: "no number before normalize",
    plugin: { score: () => "9", normalize: () => undefined },
    says: 'score: a score must be a number, not "9"',
  },
];
for (const { name, plugin, says } of wrong) {
  test(`guard() names the plugin that answers ${name}`, () => {
    const { filter, score } = guard("Mine", { name: "", ...plugin }, createVirtualClock());

    assert.throws(() => (filter ?? score)?.(makePod("p"), {} as never, undefined), {
      name: "PluginError",
      message: says.replace(/^(\w+):/, 'running $1 of plugin "Mine":'),
    });
  });
}

test("guard() checks what a plugin makes of the scores, and lets right answers through", () => {
  const rejection = { reasons: ["hated"], isFinal: false };
  const plugin = guard(
    "Mine",
    {
      name: "",
      filter: () => rejection,
      score: () => 5000,
      normalize: (scores) => void scores.fill((scores[0] ?? 0) / 50),
      permit: () => ({ waitMs: 5 }),
      candidates: () => new Set(["n1"]),
    },
    createVirtualClock(),
  );

  assert.equal(plugin.filter?.(makePod("p"), {} as never, undefined), rejection);
  assert.equal(plugin.score?.(makePod("p"), {} as never, undefined), 5000);
  assert.deepEqual(plugin.candidates?.(makePod("p")), new Set(["n1"]));
  assert.deepEqual(plugin.permit?.(makePod("p"), "n1", {} as never), { waitMs: 5 });
  assert.doesNotThrow(() => plugin.normalize?.(Float64Array.of(5000)));
  assert.throws(() => plugin.normalize?.(Float64Array.of(6000)), /running normalize of plugin "Mine": a score must be/);
});
