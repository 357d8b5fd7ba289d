import assert from "node:assert/strict";
import { test } from "node:test";
import { Job } from "#api/batch/job.ts";
import { Pod } from "#api/core/pod.ts";
import { type DeleteOptions } from "#api/meta/delete-options.ts";
import { type ObjectMeta } from "#api/meta/object-meta.ts";
import { type ApiObject, type Resource } from "#api/resource.ts";
import { Widget } from "#testing/widget.ts";
import { markDeleted } from "./mark-deleted.ts";

const second = 1000;
const start = Date.UTC(2026, 0, 1, 8);
const at = (seconds: number): string => `${new Date(start + seconds * second).toISOString().slice(0, 19)}Z`;

interface Case {
  readonly claim: string;
  readonly of?: Resource;
  readonly metadata?: Partial<ObjectMeta>;
  readonly pod?: object;
  readonly options: DeleteOptions;
  /** Seconds after the start. */
  readonly later?: number;
  /** The resulting metadata; "same" for the object itself. */
  readonly becomes: Partial<ObjectMeta> | "same";
}

const pod = Pod as unknown as Resource;
const job = Job as unknown as Resource;
const graceful = { deletionTimestamp: at(30), deletionGracePeriodSeconds: 30, generation: 2 };
const held = { deletionTimestamp: at(0), deletionGracePeriodSeconds: 0, finalizers: ["example.com/hold"] };

const cases: readonly Case[] = [
  {
    claim: "gives a running pod its own grace period, and a new generation",
    of: pod,
    metadata: { generation: 1 },
    options: {},
    becomes: { deletionTimestamp: at(30), deletionGracePeriodSeconds: 30, generation: 2 },
  },
  {
    claim: "gives a pod without a node no grace period",
    of: pod,
    pod: { spec: { terminationGracePeriodSeconds: 30 } },
    options: { gracePeriodSeconds: 10 },
    becomes: { deletionTimestamp: at(0), deletionGracePeriodSeconds: 0 },
  },
  {
    claim: "reads a negative grace period as one second",
    of: pod,
    options: { gracePeriodSeconds: -5 },
    becomes: { deletionTimestamp: at(1), deletionGracePeriodSeconds: 1 },
  },
  {
    claim: "changes nothing on a second request without a grace period",
    of: pod,
    metadata: { ...graceful, deletionTimestamp: at(60), deletionGracePeriodSeconds: 60 },
    options: {},
    becomes: "same",
  },
  {
    claim: "does not lengthen a grace period",
    of: pod,
    metadata: graceful,
    options: { gracePeriodSeconds: 40 },
    becomes: "same",
  },
  {
    claim: "shortens a grace period, counted from its beginning, in the same generation",
    of: pod,
    metadata: graceful,
    options: { gracePeriodSeconds: 10 },
    later: 5,
    becomes: { deletionTimestamp: at(10), deletionGracePeriodSeconds: 10, generation: 2 },
  },
  {
    claim: "leaves one second when the shorter grace period is already over",
    of: pod,
    metadata: graceful,
    options: { gracePeriodSeconds: 10 },
    later: 20,
    becomes: { deletionTimestamp: at(20), deletionGracePeriodSeconds: 1, generation: 2 },
  },
  {
    claim: "ends a grace period immediately",
    of: pod,
    metadata: graceful,
    options: { gracePeriodSeconds: 0 },
    later: 5,
    becomes: { deletionTimestamp: at(5), deletionGracePeriodSeconds: 0, generation: 2 },
  },
  {
    claim: "leaves the finalizers alone while a grace period runs",
    of: pod,
    metadata: graceful,
    options: { propagationPolicy: "Foreground" },
    becomes: "same",
  },
  {
    claim: "marks an object that finalizers hold",
    metadata: { finalizers: ["example.com/hold"], generation: 4 },
    options: {},
    becomes: { ...held, generation: 5 },
  },
  {
    claim: "changes nothing the second time",
    metadata: held,
    options: { gracePeriodSeconds: 0 },
    later: 7,
    becomes: "same",
  },
  {
    claim: "adds a finalizer for foreground deletion, also the second time",
    metadata: held,
    options: { propagationPolicy: "Foreground" },
    later: 7,
    becomes: { ...held, finalizers: ["example.com/hold", "foregroundDeletion"] },
  },
  {
    claim: "replaces foreground deletion by orphaning",
    metadata: { ...held, finalizers: ["foregroundDeletion"] },
    options: { orphanDependents: true },
    becomes: { ...held, finalizers: ["orphan"] },
  },
  {
    claim: "removes both finalizers for background deletion",
    metadata: { finalizers: ["orphan"] },
    options: { propagationPolicy: "Background" },
    becomes: { deletionTimestamp: at(0), deletionGracePeriodSeconds: 0 },
  },
  {
    claim: "keeps the pods of a job unless the client says otherwise",
    of: job,
    options: {},
    becomes: { deletionTimestamp: at(0), deletionGracePeriodSeconds: 0, finalizers: ["orphan"] },
  },
  {
    claim: "does not keep the pods of a job for background deletion",
    of: job,
    options: { propagationPolicy: "Background" },
    becomes: { deletionTimestamp: at(0), deletionGracePeriodSeconds: 0 },
  },
  {
    claim: "leaves the pods of a job to a finalizer that is there",
    of: job,
    metadata: { finalizers: ["foregroundDeletion"] },
    options: {},
    becomes: { deletionTimestamp: at(0), deletionGracePeriodSeconds: 0, finalizers: ["foregroundDeletion"] },
  },
];

const running = { spec: { nodeName: "a", terminationGracePeriodSeconds: 30 }, status: { phase: "Running" } };

for (const {
  claim,
  of = Widget as unknown as Resource,
  metadata = {},
  pod: parts,
  options,
  later = 0,
  becomes,
} of cases) {
  test(`markDeleted() ${claim}`, () => {
    const withStatus = { ...running, status: {}, ...parts };
    const object = { metadata: { name: "web", ...metadata }, ...(parts ? withStatus : running) } as ApiObject;

    const marked = markDeleted(of, object, { options, now: start + later * second });

    if (becomes === "same") assert.equal(marked, object);
    else assert.deepEqual(marked.metadata, { name: "web", ...becomes });
  });
}
