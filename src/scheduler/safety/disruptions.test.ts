import assert from "node:assert/strict";
import { test } from "node:test";
import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { PodDisruptionBudget } from "#api/policy/pod-disruption-budget.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import { asking, makeNode, makePod } from "#testing/scheduling.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { Disruptions } from "./disruptions.suite.ts";

interface Placed {
  readonly app?: string;
  readonly priority?: number;
}

/** Nodes with room for one pod each. The budget of the app `guarded` wants one to stay. */
function setUp(placed: Readonly<Record<string, Placed>>) {
  const informers = createFakeInformers();
  const disruptions = new Disruptions(createVirtualClock(), informers);
  informers.put(PodDisruptionBudget, {
    metadata: { name: "guarded", namespace: "default" },
    spec: { minAvailable: 1, selector: { matchLabels: { app: "guarded" } } },
  });
  const podOf = (name: string, { app = "guarded", priority = 0 }: Placed, nodeName?: string): Pod =>
    makePod(name, {
      labels: { app },
      priority,
      containers: [asking({ cpu: "2" })],
      ...(nodeName ? { nodeName } : {}),
      status: nodeName ? { phase: "Running", startTime: "2026-01-01T00:00:00Z" } : {},
    });
  for (const [name, parts] of Object.entries(placed)) {
    informers.put(Node, makeNode(`on-${name}`, { status: { allocatable: { cpu: "2", memory: "8Gi", pods: "10" } } }));
    informers.put(Pod, podOf(name, parts, `on-${name}`));
  }
  const world = () => {
    const pods = informers.of(Pod).list();
    return { nodes: informers.of(Node).list(), pods: pods.filter(({ spec }) => spec.nodeName), namespaceLabels: {} };
  };
  const faults: string[] = [];
  return {
    faults,
    /** Nominated by the store. */
    nominate(name: string, node: string) {
      const waiting = podOf(name, { app: "plain", priority: 10 });
      informers.put(Pod, { ...waiting, status: { ...waiting.status, nominatedNodeName: node } });
      disruptions.onNomination(name);
      disruptions.remember(world());
    },
    choose(pod: string, victim: string, by = "a") {
      if (!informers.of(Pod).get({ namespace: "default", name: pod })) {
        informers.put(Pod, podOf(pod, { app: "plain", priority: 10 }));
      }
      const tried = { by, pod, node: undefined, victims: [victim], keepsNomination: false };
      disruptions.onTried(tried, world(), (known) => known);
    },
    fail: (victim: string, by = "a") => disruptions.onFailure(by, victim),
    end(name: string, by = "a") {
      disruptions.onEnd(by, name);
      const pod = informers.of(Pod).get({ namespace: "default", name });
      assert(pod);
      informers.put(Pod, { ...pod, metadata: { ...pod.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } });
      faults.push(...disruptions.onEnding(pod));
      disruptions.remember(world());
    },
  };
}

const broken = (pod: string) => [`the end of ${pod} broke the budget guarded without need`];
const guarded: Placed = {};
const other: Placed = { app: "plain", priority: 5 };

test("ends that the budget allows, or that it cannot prevent, are no fault, in whichever order they come", () => {
  for (const order of [
    ["first", "second"],
    ["second", "first"],
  ]) {
    const { choose, end, faults } = setUp({ first: guarded, second: guarded });
    choose("one", "first");
    choose("two", "second");
    for (const victim of order) end(victim);

    assert.deepEqual(faults, [], order.join());
  }
});

test("a scheduler that forgets whom it has chosen breaks a budget without need, in whichever order they end", () => {
  for (const order of [
    ["first", "second"],
    ["second", "first"],
  ]) {
    const { choose, end, faults } = setUp({ first: guarded, second: guarded, third: other });
    choose("one", "first");
    choose("two", "second");
    for (const victim of order) end(victim);

    assert.deepEqual(faults, broken("second"), order.join());
  }
});

test("a scheduler that takes over knows whom the one before it has ended", () => {
  const { choose, end, faults } = setUp({ first: guarded, second: guarded, third: other });
  choose("one", "first", "a");
  end("first", "a");
  choose("two", "second", "b");
  end("second", "b");

  assert.deepEqual(faults, broken("second"));
});

test("a scheduler keeps the room for which it lets a pod wait, whatever the store says", () => {
  const { nominate, choose, end, faults } = setUp({ first: guarded, second: other });
  nominate("one", "on-first");
  choose("one", "second");
  choose("two", "first");
  end("first");

  assert.deepEqual(faults, []);
});

test("room for which the store lets a pod wait is left, unless the scheduler has given it up", () => {
  const { nominate, choose, end, faults } = setUp({ first: guarded, second: other, third: other });
  nominate("one", "on-second");
  choose("one", "third");
  choose("two", "first");
  end("first");

  assert.deepEqual(faults, broken("first"));
});

test("a pod of which the scheduler does not know whether it ends may be chosen again", () => {
  const { choose, fail, end, faults } = setUp({ first: guarded, second: guarded, third: other });
  choose("one", "first");
  fail("first");
  choose("one", "second");
  end("second");

  assert.deepEqual(faults, []);
});
