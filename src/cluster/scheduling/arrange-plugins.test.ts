import assert from "node:assert/strict";
import { test } from "node:test";
import { fits, type SchedulerPlugin } from "#scheduler/framework.ts";
import { root } from "#schema/field-error.ts";
import { arrangePlugins } from "./arrange-plugins.ts";
import { type Plugins } from "./configuration.ts";

const sorter: SchedulerPlugin = { name: "Sorter", queueSort: () => true };
const filters = (name: string, weight?: number): SchedulerPlugin => ({
  name,
  looksAt: () => null,
  filter: () => fits,
  score: () => 1,
  ...(weight ? { weight } : {}),
});
const prepared: SchedulerPlugin = { ...filters("Prepared"), preFilter: () => 1, preScore: () => 1 };
const across: SchedulerPlugin = {
  name: "Across",
  weight: 2,
  acrossNodes: () => ({ filter: () => fits, score: (slots) => new Float64Array(slots.length) }),
};
const binder: SchedulerPlugin = { name: "Binder", bind: async () => true };
const defaults = [sorter, filters("A", 3), filters("B"), prepared, across, binder];
const others = [filters("Own", 7), { name: "Other", queueSort: () => true }];

const arrange = (choice: Plugins) => arrangePlugins({ defaults, others }, choice, root.child("plugins"));
/** The plugins with this hook, in order. */
const at = (choice: Plugins, hook: keyof SchedulerPlugin): string[] =>
  arrange(choice)
    .plugins.filter((plugin) => plugin[hook])
    .map(({ name }) => name);
const weights = (choice: Plugins): Record<string, number | undefined> =>
  Object.fromEntries(
    arrange(choice)
      .plugins.filter(({ score, acrossNodes }) => score ?? acrossNodes)
      .map(({ name, weight }) => [name, weight]),
  );
const named = (...names: string[]) => names.map((name) => ({ name }));

const orders: readonly (readonly [string, Plugins, keyof SchedulerPlugin, readonly string[]])[] = [
  ["has the default plugins in order", {}, "filter", ["A", "B", "Prepared"]],
  ["adds plugins at the end", { multiPoint: { enabled: named("Own") } }, "filter", ["A", "B", "Prepared", "Own"]],
  ["leaves out what is disabled", { multiPoint: { disabled: named("A") } }, "filter", ["B", "Prepared"]],
  [
    "leaves out all but what is enabled",
    { multiPoint: { disabled: named("*"), enabled: named("Own", "A", "Sorter", "Binder") } },
    "filter",
    ["Own", "A"],
  ],
  ["disables at one point only", { filter: { disabled: named("A") } }, "filter", ["B", "Prepared"]],
  ["keeps the other points", { filter: { disabled: named("A") } }, "score", ["A", "B", "Prepared"]],
  [
    "puts first what one point enables",
    { filter: { enabled: named("B", "Own") } },
    "filter",
    ["B", "A", "Prepared", "Own"],
  ],
  [
    "lets one point have another order",
    { filter: { disabled: named("*"), enabled: named("Prepared", "A") } },
    "filter",
    ["Prepared", "A"],
  ],
  ["does not filter without what preFilter computes", { preFilter: { disabled: named("*") } }, "filter", ["A", "B"]],
  ["does not score without what preScore computes", { preScore: { disabled: named("*") } }, "score", ["A", "B"]],
];
for (const [claim, choice, hook, names] of orders) {
  test(`arrangePlugins() ${claim}`, () => {
    const { faults } = arrange(choice);

    assert.deepEqual(faults, []);
    assert.deepEqual(at(choice, hook), names);
  });
}

for (const hook of ["follow", "observe", "prepare"] as const) {
  test(`arrangePlugins() keeps ${hook} of a plugin that runs at some points only`, () => {
    const plugin: SchedulerPlugin = { ...filters("Whole"), [hook]: () => undefined };
    const choice = { score: { disabled: named("Whole") } };

    const { plugins } = arrangePlugins({ defaults: [sorter, plugin, binder], others }, choice, root.child("plugins"));

    assert.deepEqual(
      plugins.filter((part) => part[hook]).map(({ name }) => name),
      ["Whole"],
    );
  });
}

test("arrangePlugins() takes the weight of the point, else of all points, else of the plugin", () => {
  assert.deepEqual(weights({ multiPoint: { enabled: [{ name: "A", weight: 9 }, { name: "B" }] } }), {
    A: 9,
    B: undefined,
    Prepared: undefined,
    Across: 2,
  });
  const both = { multiPoint: { enabled: [{ name: "A", weight: 9 }] }, score: { enabled: [{ name: "A", weight: 4 }] } };
  assert.equal(weights(both).A, 4);
});

test("arrangePlugins() cuts a comparison of nodes into its filter and its score", () => {
  const answers = (choice: Plugins) =>
    arrange(choice).plugins.flatMap(({ acrossNodes }) => {
      const answer = acrossNodes?.({} as never, {} as never);
      return answer ? [[answer.filter !== undefined, answer.score !== undefined]] : [];
    });

  assert.deepEqual(answers({ reserve: {} }), [[true, true]]);
  assert.deepEqual(answers({ filter: { disabled: named("Across") } }), [[false, true]]);
  assert.deepEqual(answers({ score: { disabled: named("Across") } }), [[true, false]]);
  assert.deepEqual(answers({ filter: { disabled: named("*") }, score: { disabled: named("*") } }), []);
});

const faulty: readonly (readonly [Plugins, string])[] = [
  [
    { filter: { enabled: named("Nobody") } },
    'plugins.filter.enabled[0].name: Unsupported value: "Nobody": supported values: "A", "Across", "B", "Binder", "Other", "Own", "Prepared", "Sorter"',
  ],
  [
    { bind: { enabled: named("A") } },
    'plugins.bind.enabled[0].name: Invalid value: "A": plugin "A" does not extend bind plugin',
  ],
  [{ score: { enabled: named("A", "A") } }, 'plugins.score.enabled[1]: Duplicate value: "A"'],
  [
    { multiPoint: { disabled: named("Sorter") } },
    "plugins.queueSort: Required value: one queue sort plugin must be enabled",
  ],
  [
    { queueSort: { enabled: named("Other") } },
    "plugins.queueSort.enabled: Invalid value: 2: only one queue sort plugin can be enabled",
  ],
  [{ bind: { disabled: named("*") } }, "plugins.bind: Required value: at least one bind plugin is needed"],
];
for (const [choice, fault] of faulty) {
  test(`arrangePlugins() refuses ${JSON.stringify(choice)}`, () => {
    const [found] = arrange(choice).faults;

    assert.equal(`${found?.path}: ${found?.message}`, fault);
  });
}
