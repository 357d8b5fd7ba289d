import assert from "node:assert/strict";
import { test } from "node:test";
import { ReplicaSet } from "#api/apps/replica-set.ts";
import { Pod } from "#api/core/pod.ts";
import { type InputOf } from "#api/resource.ts";
import { type Client } from "#client/client.ts";
import { type EventRecorder } from "#client/events.ts";
import { planClaim } from "#controllers/shared/claim.ts";

import { neverAborted } from "#lib/async/tasks.ts";
import { silentLog } from "#lib/process/log.ts";
import { build } from "#testing/build.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import { createVirtualClock } from "#testing/virtual-clock.ts";
import { planReplicas } from "./plan-replicas.ts";
import { replicaSetController, replicaSetStatus } from "./replica-set.ts";

const nowMs = Date.UTC(2026, 0, 1, 8);
const at = (secondsAgo: number) => new Date(nowMs - secondsAgo * 1000).toISOString().replace(".000", "");

interface PodFacts {
  readonly name: string;
  readonly node?: string;
  readonly phase?: "Pending" | "Running" | "Unknown";
  readonly readyFor?: number;
  readonly age?: number;
  readonly cost?: string;
  readonly restarts?: number;
  readonly labels?: Record<string, string>;
}

function pod({ name, node, phase = "Running", readyFor, age = 100, cost, restarts, labels }: PodFacts): Pod {
  const input: InputOf<Pod> = {
    metadata: {
      name,
      namespace: "default",
      labels: labels ?? { app: "web" },
      creationTimestamp: at(age),
      ...(cost ? { annotations: { "controller.kubernetes.io/pod-deletion-cost": cost } } : {}),
    },
    spec: { containers: [{ name: "c", image: "i" }], ...(node ? { nodeName: node } : {}) },
    status: {
      phase,
      ...(readyFor === undefined
        ? {}
        : { conditions: [{ type: "Ready", status: "True", lastTransitionTime: at(readyFor) }] }),
      ...(restarts === undefined
        ? {}
        : { containerStatuses: [{ name: "c", ready: true, restartCount: restarts, image: "i", imageID: "" }] }),
    },
  };
  return build(Pod, input);
}

const waiting = pod({ name: "waiting", phase: "Pending" });
const placed = pod({ name: "placed", node: "a", phase: "Pending" });
const unready = pod({ name: "unready", node: "a" });
const running = pod({ name: "running", node: "a", readyFor: 50 });

const cases = [
  { name: "creates missing pods", desired: 3, active: [running], create: 2, remove: [] },
  { name: "does nothing when the count is right", desired: 1, active: [running], create: 0, remove: [] },
  {
    name: "removes the pods with the least progress first",
    desired: 1,
    active: [running, unready, placed, waiting],
    create: 0,
    remove: ["waiting", "placed", "unready"],
  },
  { name: "limits one round to 500 pods", desired: 10_000, active: [], create: 500, remove: [] },
  {
    name: "removes the cheaper pod before the younger one",
    desired: 1,
    active: [
      pod({ name: "young", node: "a", readyFor: 1, age: 1 }),
      pod({ name: "cheap", node: "b", readyFor: 500, age: 500, cost: "-5" }),
    ],
    create: 0,
    remove: ["cheap"],
  },
  {
    name: "ignores a cost that is not a number",
    desired: 1,
    active: [
      pod({ name: "odd", node: "a", readyFor: 500, age: 500, cost: "-05" }),
      pod({ name: "young", node: "a", readyFor: 1, age: 500 }),
    ],
    create: 0,
    remove: ["young"],
  },
  {
    name: "removes the pod that restarted more often",
    desired: 1,
    active: [
      pod({ name: "calm", node: "a", readyFor: 9, restarts: 1 }),
      pod({ name: "wild", node: "a", readyFor: 9, restarts: 3 }),
    ],
    create: 0,
    remove: ["wild"],
  },
  {
    name: "removes the younger pod if the ages differ by magnitude",
    desired: 1,
    active: [pod({ name: "old", node: "a", age: 1000 }), pod({ name: "young", node: "a", age: 10 })],
    create: 0,
    remove: ["young"],
  },
];
for (const { name, desired, active, create, remove } of cases) {
  test(`planReplicas() ${name}`, () => {
    const plan = planReplicas(desired, { active, nowMs });

    assert.equal(plan.create, create);
    assert.deepEqual(
      plan.remove.map(({ metadata }) => metadata.name),
      remove,
    );
  });
}

test("planReplicas() removes a pod from the node that has the most of the owner's pods", () => {
  const a = pod({ name: "a", node: "crowded", readyFor: 9 });
  const b = pod({ name: "b", node: "empty", readyFor: 9 });
  const sister = pod({ name: "sister", node: "crowded", readyFor: 9 });

  const plan = planReplicas(1, { active: [a, b], related: [a, b, sister], nowMs });

  assert.deepEqual(plan.remove, [a]);
});

const set = build(ReplicaSet, {
  metadata: { name: "web", namespace: "default", generation: 2 },
  spec: {
    replicas: 2,
    minReadySeconds: 10,
    selector: { matchLabels: { app: "web" } },
    template: {
      metadata: { labels: { app: "web", color: "red" } },
      spec: { containers: [{ name: "c", image: "i" }] },
    },
  },
});

test("planClaim() keeps, adopts and releases by the labels", () => {
  const mine = pod({ name: "mine" });
  const strayed = pod({ name: "strayed", labels: { app: "other" } });
  const lost = pod({ name: "lost" });
  const foreign = pod({ name: "foreign", labels: { app: "other" } });
  const claim = {
    owner: set,
    ownerResource: ReplicaSet,
    resource: Pod,
    selector: set.spec.selector,
    owned: [mine, strayed],
    orphans: [lost, foreign],
  };

  const plan = planClaim(claim);
  const ending = planClaim({ ...claim, owner: { ...set, metadata: { ...set.metadata, deletionTimestamp: at(0) } } });

  assert.deepEqual(plan, { keep: [mine], adopt: [lost], release: [strayed] });
  assert.deepEqual(ending, { keep: [mine], adopt: [], release: [] });
});

test("replicaSetStatus() counts labels, readiness and availability", () => {
  const labels = { app: "web", color: "red" };
  const active = [
    pod({ name: "a", readyFor: 60, labels }),
    pod({ name: "b", readyFor: 3, labels }),
    pod({ name: "c", phase: "Pending" }),
  ];

  const status = replicaSetStatus(set, { active, terminating: 1 }, nowMs);

  assert.deepEqual(status, {
    replicas: 3,
    fullyLabeledReplicas: 2,
    readyReplicas: 2,
    availableReplicas: 1,
    terminatingReplicas: 1,
    observedGeneration: 2,
  });
});

test("replicaSetStatus() adds a failure once and removes it after a success", () => {
  const failure = { error: new Error("exceeded quota"), reason: "FailedCreate" } as const;
  const failed = replicaSetStatus(set, { active: [], terminating: 0, failure }, nowMs);
  const next = { ...set, status: failed };

  const again = replicaSetStatus(next, { active: [], terminating: 0, failure }, nowMs + 60_000);
  const well = replicaSetStatus(next, { active: [], terminating: 0 }, nowMs + 60_000);

  assert.deepEqual(failed.conditions, [
    {
      type: "ReplicaFailure",
      status: "True",
      lastTransitionTime: at(0),
      reason: "FailedCreate",
      message: "exceeded quota",
    },
  ]);
  assert.deepEqual(again, failed);
  assert.equal(well.conditions, undefined);
});

const silentEvents: EventRecorder = { event() {}, async flush() {}, async [Symbol.asyncDispose]() {} };

test("a ReplicaSet looks again at a pod that becomes available while it is reconciled", async () => {
  const template = { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "c", image: "i" }] } };
  const input = build(ReplicaSet, {
    metadata: { name: "web", namespace: "default", uid: "set", generation: 1 },
    spec: { replicas: 1, selector: { matchLabels: { app: "web" } }, template, minReadySeconds: 50 },
  });
  const status = {
    replicas: 1,
    fullyLabeledReplicas: 1,
    readyReplicas: 1,
    terminatingReplicas: 0,
    observedGeneration: 1,
  };
  const set = { ...input, status };
  const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web", uid: "set", controller: true };
  const owned = { ...running, metadata: { ...running.metadata, ownerReferences: [owner] } };
  const informers = createFakeInformers();
  informers.put(Pod, owned);
  const noWrites = new Proxy({} as Client, { get: () => async () => assert.fail("the status is written") });

  for (let early = 1; early < 10; early++) {
    let reads = 0;
    const clock = { ...createVirtualClock(0), now: () => nowMs - early + reads++ };
    const deps = { client: noWrites, clock, informers, log: silentLog, events: silentEvents };
    const again = await replicaSetController(deps)
      .reconcile(informers.put(ReplicaSet, set), neverAborted)
      .catch(() => "available" as const);

    assert(again !== undefined, `${early} ms before the pod is available`);
  }
});
