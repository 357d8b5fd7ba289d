import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "#api/core/pod.ts";
import type { InputOf } from "#api/resource.ts";
import { seededRandom } from "#lib/data/random.ts";
import { ModelNode } from "#testing/model/model-node.ts";

type Spec = InputOf<Pod>["spec"];
const container = (name: string, more: object = {}) => ({ name, image: "app:1", ...more });
const hook = { exec: { command: ["true"] } };

const specs: Readonly<Record<string, Spec>> = {
  once: { restartPolicy: "Never", containers: [container("main")] },
  always: { containers: [container("main")], volumes: [{ name: "data", emptyDir: {} }] },
  "two on failure": { restartPolicy: "OnFailure", containers: [container("a"), container("b")] },
  hooks: {
    restartPolicy: "Never",
    containers: [container("main", { lifecycle: { postStart: hook, preStop: hook } })],
    volumes: [{ name: "data", emptyDir: {} }],
  },
  sidecar: {
    restartPolicy: "Never",
    initContainers: [container("side", { restartPolicy: "Always", lifecycle: { preStop: hook } }), container("init")],
    containers: [container("main")],
  },
  "with a deadline": { restartPolicy: "OnFailure", activeDeadlineSeconds: 20, containers: [container("main")] },
};

/** What may happen to a pod from the outside. */
const events: Readonly<Record<string, (node: ModelNode) => unknown>> = {
  "delete 30": ({ api }) => api.delete(30),
  "delete 3": ({ api }) => api.delete(3),
  "delete by force": ({ api }) => api.delete(0),
  evict: (node) => node.evict(),
  "exit 0": (node) => node.exit(0),
  "exit 1": (node) => node.exit(1),
  "lose the sandbox": (node) => node.loseSandbox(),
  "label it": ({ api }) => api.touch(),
  "kill the kubelet": (node) => node.restartKubelet(),
};
const eventNames = Object.keys(events);

/** Checks that no invariant was violated, and that the API refused nothing. */
function check(node: ModelNode, spec: Spec, moves: readonly string[]): void {
  const { violations, api, starts } = node;
  const twice = spec?.restartPolicy === "Never" && (starts.get("main") ?? 0) > 1 ? ["main ran twice"] : [];
  const removals = api.removals > 1 ? ["the object was removed twice"] : [];
  assert.deepEqual([...violations, ...api.refusals, ...twice, ...removals], [], moves.join("\n"));
}

interface Planned {
  readonly at: number;
  readonly event: string;
}

/** Lets calls complete in order, with events before certain moves and one slow call. Then the pod must end. */
async function walk(spec: Spec, plan: readonly Planned[], slow?: string): Promise<void> {
  const node = new ModelNode(1);
  const moves = [`slow ${slow}`, ...plan.map(({ at, event }) => `${event} at ${at}`)];
  await node.settle();
  node.create(spec);
  await node.settle();
  for (let move = 0; move <= Math.max(...plan.map(({ at }) => at)); move++) {
    for (const { event } of plan.filter(({ at }) => at === move)) {
      await events[event]?.(node);
      await node.settle();
    }
    await node.goOn(slow);
  }
  await node.finish();
  node.close();
  check(node, spec, moves);
}

/** How many moves it takes until the pod runs, plus a few. */
const lengths: Readonly<Record<string, number>> = { once: 30, sidecar: 60, "two on failure": 45, hooks: 36 };
const lengthOf = (name: string): number => lengths[name] ?? 30;

for (const [name, spec] of Object.entries(specs)) {
  test(`a pod (${name}) ends whatever happens at any moment, even if the kubelet is killed`, async () => {
    for (const event of eventNames) {
      for (let at = 0; at < lengthOf(name); at += event === "kill the kubelet" ? 1 : 2)
        await walk(spec, [{ at, event }]);
    }
  });
}

test("a pod ends after any two events at any two moments", async () => {
  const names = ["delete 30", "delete 3", "delete by force", "evict", "exit 0", "kill the kubelet"];
  for (const [first, second] of names.flatMap((one) => names.map((other) => [one, other] as const))) {
    for (let at = 0; at < 24; at += 3) {
      for (const later of [1, 4]) {
        const plan = [
          { at, event: first },
          { at: at + later, event: second },
        ];
        await walk(specs.once, plan);
      }
    }
  }
});

const slowCalls = [
  "hear the API",
  "hear the runtime",
  "api.writeStatus",
  "host.",
  "runtime.runSandbox",
  "runtime.createContainer",
  "runtime.startContainer",
  "runtime.stopContainer",
  "runtime.containerStatus",
];
for (const slow of slowCalls) {
  test(`a pod ends whatever happens while ${slow} is the slowest call`, async () => {
    for (const spec of [specs.once, specs.hooks]) {
      for (const event of ["delete 3", "delete by force", "evict", "exit 0", "kill the kubelet"]) {
        for (let at = 0; at < 20; at += 2) await walk(spec, [{ at, event }], slow);
      }
    }
  });
}

/** Anything may happen at any time, in any order. Every call may fail, with or without an effect. */
async function wander(seed: number): Promise<void> {
  const random = seededRandom(seed);
  const pick = <T>(items: readonly T[]): T | undefined => items[Math.floor(random() * items.length)];
  const spec = pick(Object.values(specs));
  const slow = random() < 0.5 ? (pick(slowCalls) ?? "") : "nothing";
  const isQuick = ({ name }: { readonly name: string }) => !name.startsWith(slow);
  const node = new ModelNode(seed);
  const moves = [`seed ${seed}`, `slow ${slow}`];
  await node.settle();
  node.create(spec);
  for (let move = 0; move < 80; move++) {
    await node.settle();
    const [luck, choice] = [random(), random()];
    if (luck < 0.07) {
      const event = pick(eventNames) ?? "";
      moves.push(event);
      await events[event]?.(node);
      continue;
    }
    const late = luck < 0.15 ? node.late.shift() : undefined;
    const call = late ?? (choice < 0.7 ? node.held.find(isQuick) : pick(node.held));
    if (!call || luck > 0.95) {
      moves.push("time");
      await node.nextTimer();
      continue;
    }
    const isNews = call.name.startsWith("hear the API");
    const fate = isNews ? "pass" : luck < 0.2 ? "fail" : luck < 0.25 ? "passUnanswered" : "pass";
    moves.push(`${call.name} ${fate}`);
    void call[fate]();
  }
  await node.finish();
  node.close();
  check(node, spec, moves);
}

/** `SEEDS=600` tries more of them. */
const seeds = Number(process.env.SEEDS ?? 200);

test("a pod ends in hundreds of random histories, in which any call may fail or succeed without an answer", async () => {
  for (let seed = 1; seed <= seeds; seed++) await wander(seed);
});
