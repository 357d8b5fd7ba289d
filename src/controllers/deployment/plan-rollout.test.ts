import assert from "node:assert/strict";
import { test } from "node:test";
import { Deployment, type DeploymentStatus } from "#api/apps/deployment.ts";
import { ReplicaSet } from "#api/apps/replica-set.ts";
import { build } from "#testing/build.ts";
import { newReplicaSet } from "./deployment.ts";
import { maxSurge, maxUnavailable } from "./limits.ts";
import { planRollout } from "./plan-rollout.ts";
import { hashLabel, podTemplateHash, sameTemplate } from "./pod-template-hash.ts";
import { newSetAnnotations, nextRevision } from "./revision.ts";
import { deploymentStatus } from "./status.ts";

const nowMs = Date.UTC(2026, 0, 1, 8);
const now = "2026-01-01T08:00:00Z";

interface Facts {
  readonly replicas: number;
  readonly surge?: number | string;
  readonly unavailable?: number | string;
  readonly recreate?: boolean;
  readonly paused?: boolean;
  readonly status?: DeploymentStatus;
  readonly history?: number;
}

const deployment = (facts: Facts): Deployment =>
  build(Deployment, {
    metadata: { name: "web", namespace: "default", generation: 1, annotations: { team: "a" } },
    spec: {
      replicas: facts.replicas,
      ...(facts.paused ? { paused: true } : {}),
      ...(facts.history === undefined ? {} : { revisionHistoryLimit: facts.history }),
      selector: { matchLabels: { app: "web" } },
      template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "c", image: "i:2" }] } },
      strategy: facts.recreate
        ? { type: "Recreate" }
        : {
            type: "RollingUpdate",
            rollingUpdate: { maxSurge: facts.surge ?? "25%", maxUnavailable: facts.unavailable ?? "25%" },
          },
    },
    ...(facts.status ? { status: facts.status } : {}),
  });

interface SetFacts {
  readonly name?: string;
  readonly size: number;
  readonly available?: number;
  readonly there?: number;
  /** The status is from generation 1. */
  readonly generation?: number;
  /** The size and maximum of the deployment in the annotations. */
  readonly desired?: number;
  readonly max?: number;
  readonly age?: number;
  readonly revision?: number;
}

const set = (facts: SetFacts): ReplicaSet =>
  build(ReplicaSet, {
    metadata: {
      name: facts.name ?? "new",
      namespace: "default",
      generation: facts.generation ?? 1,
      creationTimestamp: new Date(nowMs - (facts.age ?? 0) * 1000).toISOString(),
      annotations: {
        ...(facts.desired === undefined ? {} : { "deployment.kubernetes.io/desired-replicas": `${facts.desired}` }),
        ...(facts.max === undefined ? {} : { "deployment.kubernetes.io/max-replicas": `${facts.max}` }),
        ...(facts.revision === undefined ? {} : { "deployment.kubernetes.io/revision": `${facts.revision}` }),
      },
    },
    spec: {
      replicas: facts.size,
      selector: { matchLabels: { app: "web" } },
      template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "c", image: "i:1" }] } },
    },
    status: {
      replicas: facts.there ?? facts.size,
      observedGeneration: 1,
      availableReplicas: facts.available ?? facts.size,
      readyReplicas: facts.available ?? facts.size,
    },
  });
const old = (facts: SetFacts) => set({ name: "old", age: 100, ...facts });

const cases: {
  name: string;
  facts: Facts;
  newSet?: SetFacts;
  oldSets?: SetFacts[];
  running?: boolean;
  create?: number;
  scale?: Record<string, number>;
}[] = [
  { name: "creates the first set at full size", facts: { replicas: 3 }, create: 3 },
  {
    name: "creates a new set as large as the surge allows",
    facts: { replicas: 10, surge: 3, unavailable: 2 },
    oldSets: [{ size: 10 }],
    create: 3,
  },
  {
    name: "creates an empty new set without a surge",
    facts: { replicas: 2, surge: 0, unavailable: 1 },
    oldSets: [{ size: 2 }],
    create: 0,
  },
  {
    name: "removes as many old pods as may be unavailable",
    facts: { replicas: 10, surge: 3, unavailable: 2 },
    newSet: { size: 3, available: 0 },
    oldSets: [{ size: 10 }],
    scale: { old: 8 },
  },
  {
    name: "grows the new set before it shrinks the old one further",
    facts: { replicas: 10, surge: 3, unavailable: 2 },
    newSet: { size: 3, available: 0 },
    oldSets: [{ size: 8 }],
    scale: { new: 5 },
  },
  {
    name: "waits for old pods that are being removed",
    facts: { replicas: 10, surge: 3, unavailable: 2 },
    newSet: { size: 3, available: 0 },
    oldSets: [{ size: 8, there: 10, available: 10 }],
  },
  {
    name: "does not count old pods that are being removed as available",
    facts: { replicas: 6, surge: 2, unavailable: 1 },
    newSet: { size: 2 },
    oldSets: [{ size: 5, there: 6, available: 6, generation: 2 }],
    scale: { old: 3 },
  },
  {
    name: "waits for sets that have not reported how many pods they have",
    facts: { replicas: 4, surge: 1, unavailable: 0 },
    newSet: { size: 1 },
    oldSets: [{ size: 0, there: 0, generation: 2 }],
  },
  {
    name: "waits while new pods are not available",
    facts: { replicas: 10, surge: 3, unavailable: 2 },
    newSet: { size: 5, available: 0 },
    oldSets: [{ size: 8 }],
  },
  {
    name: "removes unhealthy old pods first",
    facts: { replicas: 10, surge: 3, unavailable: 2 },
    newSet: { size: 0 },
    oldSets: [
      { name: "older", size: 8, available: 8, age: 200 },
      { name: "broken", size: 5, available: 0 },
    ],
    scale: { broken: 0 },
  },
  {
    name: "does nothing when the rollout is complete",
    facts: { replicas: 3 },
    newSet: { size: 3 },
    oldSets: [{ size: 0 }],
  },
  {
    name: "shrinks the new set if it is too large",
    facts: { replicas: 3 },
    newSet: { size: 5, desired: 3 },
    scale: { new: 3 },
  },
  {
    name: "resizes the only set",
    facts: { replicas: 5 },
    newSet: { size: 3, desired: 3 },
    scale: { new: 5 },
  },
  {
    name: "resizes sets in proportion during a rollout",
    facts: { replicas: 15, surge: 3, unavailable: 2 },
    newSet: { size: 5, available: 0, desired: 10, max: 13 },
    oldSets: [{ size: 8, desired: 10, max: 13 }],
    scale: { old: 11, new: 7 },
  },
  {
    name: "keeps the template of a paused deployment but follows its size",
    facts: { replicas: 4, paused: true },
    oldSets: [{ size: 2, desired: 2 }],
    scale: { old: 4 },
  },
  {
    name: "removes the old pods first when it recreates",
    facts: { replicas: 2, recreate: true },
    oldSets: [{ size: 2 }],
    running: true,
    scale: { old: 0 },
  },
  {
    name: "recreates only after the last old pod is gone",
    facts: { replicas: 2, recreate: true },
    oldSets: [{ size: 0 }],
    running: true,
  },
  {
    name: "recreates at full size",
    facts: { replicas: 2, recreate: true },
    oldSets: [{ size: 0 }],
    create: 2,
  },
];
for (const { name, facts, newSet, oldSets = [], running = false, create, scale = {} } of cases) {
  test(`planRollout() ${name}`, () => {
    const situation = {
      newSet: newSet && set(newSet),
      oldSets: oldSets.map(old),
      oldPodsRunning: running,
    };

    const plan = planRollout(deployment(facts), situation);

    const sizes = plan.scale.map(({ set: { metadata }, replicas }) => [metadata.name, replicas]);
    assert.equal(plan.create, create);
    assert.deepEqual(Object.fromEntries(sizes), scale);
  });
}

test("planRollout() removes the oldest empty sets once the rollout is complete", () => {
  const status = { observedGeneration: 1, replicas: 1, updatedReplicas: 1, availableReplicas: 1 };
  const oldSets = [
    old({ name: "c", size: 0, revision: 3 }),
    old({ name: "a", size: 0, revision: 1 }),
    old({ name: "b", size: 0, there: 1, revision: 2 }),
  ];
  const situation = { newSet: set({ size: 1, desired: 1 }), oldSets, oldPodsRunning: false };

  const plan = planRollout(deployment({ replicas: 1, history: 1, status }), situation);

  assert.deepEqual(
    plan.remove.map(({ metadata }) => metadata.name),
    ["a"],
  );
});

const limits = [
  { replicas: 10, surge: "25%", unavailable: "25%", expected: [3, 2] },
  { replicas: 1, surge: "25%", unavailable: "25%", expected: [1, 0] },
  { replicas: 1, surge: 0, unavailable: "25%", expected: [0, 1] },
  { replicas: 2, surge: 1, unavailable: 5, expected: [1, 2] },
  { replicas: 0, surge: "25%", unavailable: "25%", expected: [0, 0] },
];
for (const { expected, ...facts } of limits) {
  test(`the limits of ${facts.replicas} with ${facts.surge} and ${facts.unavailable} are ${expected}`, () => {
    const subject = deployment(facts);

    assert.deepEqual([maxSurge(subject), maxUnavailable(subject)], expected);
  });
}

test("podTemplateHash() depends on content and collisions, not on the order of fields", () => {
  const { template } = deployment({ replicas: 1 }).spec;
  const turned = Object.fromEntries(Object.entries(template).toReversed()) as unknown as typeof template;

  assert.equal(podTemplateHash(turned), podTemplateHash(template));
  assert.notEqual(podTemplateHash(template, 1), podTemplateHash(template));
  assert.match(podTemplateHash(template), /^[bcdfghjklmnpqrstvwxz2456789]{10}$/);
});

test("newReplicaSet() carries the hash in name, labels, selector and template", () => {
  const subject = deployment({ replicas: 4, surge: 1 });

  const made = build(ReplicaSet, newReplicaSet(subject, [old({ size: 4, revision: 7 })], 2));

  const hash = made.metadata.labels?.[hashLabel];
  assert.equal(made.metadata.name, `web-${hash}`);
  assert.equal(made.spec.selector.matchLabels?.[hashLabel], hash);
  assert(sameTemplate(made.spec.template, subject.spec.template));
  assert.equal(made.spec.template.metadata.labels?.[hashLabel], hash);
  assert.deepEqual(made.metadata.annotations, {
    team: "a",
    "deployment.kubernetes.io/revision": "8",
    "deployment.kubernetes.io/desired-replicas": "4",
    "deployment.kubernetes.io/max-replicas": "5",
  });
});

test("a set that is rolled back to gets a new revision and remembers the old one", () => {
  const subject = deployment({ replicas: 1 });
  const sets = [old({ size: 1, revision: 2 }), old({ size: 0, revision: 3 })];
  const current = { "deployment.kubernetes.io/revision": "1", team: "a" };

  const first = newSetAnnotations(subject, current, nextRevision(sets));
  const second = newSetAnnotations(subject, first, 9n);

  assert.deepEqual(first, {
    team: "a",
    "deployment.kubernetes.io/revision": "4",
    "deployment.kubernetes.io/revision-history": "1",
  });
  assert.equal(second["deployment.kubernetes.io/revision-history"], "1,4");
  assert.deepEqual(newSetAnnotations(subject, second, 2n), second);
});

test("nextRevision() increments a 64-bit number", () => {
  const adopted = old({ size: 1, revision: 1 });
  const metadata = { ...adopted.metadata, annotations: { "deployment.kubernetes.io/revision": "3546343826724305832" } };

  assert.equal(nextRevision([{ ...adopted, metadata }]), 3546343826724305833n);
});

test("deploymentStatus() reports a new set, then progress, then success", () => {
  const subject = deployment({ replicas: 2 });
  const base = { oldSets: [], isRollout: true, created: false };
  const steps = [
    { created: true, newSet: set({ size: 2, there: 0, available: 0 }) },
    { newSet: set({ size: 2, there: 2, available: 1 }) },
    { newSet: set({ size: 2, there: 2, available: 2 }) },
  ];
  let current = subject;
  const told: string[] = [];

  for (const [index, step] of steps.entries()) {
    const status = deploymentStatus(current, { ...base, ...step, nowMs: nowMs + index * 1000 });
    told.push(...(status.conditions ?? []).map(({ type, status, reason }) => `${type} ${status} ${reason}`));
    current = { ...subject, status };
  }

  assert.deepEqual(told, [
    "Progressing True NewReplicaSetCreated",
    "Available False MinimumReplicasUnavailable",
    "Available False MinimumReplicasUnavailable",
    "Progressing True ReplicaSetUpdated",
    "Available True MinimumReplicasAvailable",
    "Progressing True NewReplicaSetAvailable",
  ]);
  const [, progressing] = current.status.conditions ?? [];
  assert.equal(progressing?.message, 'ReplicaSet "new" has successfully progressed.');
  assert.equal(progressing?.lastTransitionTime, now);
});

test("deploymentStatus() reports that a rollout is overdue", () => {
  const subject = deployment({ replicas: 2 });
  const newSet = set({ size: 2, there: 2, available: 0 });
  const base = { newSet, oldSets: [], isRollout: true, created: false };
  const first = deploymentStatus(subject, { ...base, created: true, nowMs });
  const waiting = { ...subject, status: first };

  const onTime = deploymentStatus(waiting, { ...base, nowMs: nowMs + 600_000 });
  const late = deploymentStatus(waiting, { ...base, nowMs: nowMs + 601_000 });

  const reasonOf = ({ conditions = [] }: DeploymentStatus) =>
    conditions.find(({ type }) => type === "Progressing")?.reason;
  assert.equal(reasonOf(onTime), reasonOf(first));
  assert.equal(reasonOf(late), "ProgressDeadlineExceeded");
});

test("deploymentStatus() stops the deadline of a paused deployment", () => {
  const paused = deployment({ replicas: 1, paused: true });
  const base = { newSet: set({ size: 1 }), oldSets: [], isRollout: false, created: false, nowMs };

  const status = deploymentStatus(paused, base);
  const resumed = deploymentStatus({ ...deployment({ replicas: 1 }), status }, base);

  const told = ({ conditions = [] }: DeploymentStatus) =>
    conditions.filter(({ type }) => type === "Progressing").map(({ status, message }) => [status, message]);
  assert.deepEqual(told(status), [["Unknown", "Deployment is paused"]]);
  assert.deepEqual(told(resumed), [["Unknown", "Deployment is resumed"]]);
});
