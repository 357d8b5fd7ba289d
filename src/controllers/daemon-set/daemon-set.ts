import { ControllerRevision } from "#api/apps/controller-revision.ts";
import { DaemonSet } from "#api/apps/daemon-set.ts";
import { Node } from "#api/core/node.ts";
import { nextAvailableAt } from "#api/core/pod/pod-state.ts";
import { Pod } from "#api/core/pod.ts";
import { isEmptySelector } from "#api/meta/label-selector.ts";
import { revisionLabel } from "#api/well-known.ts";
import { referenceTo } from "#client/events.ts";
import { claim } from "#controllers/shared/claim.ts";
import { adopters } from "#controllers/shared/dependents.ts";
import { PodWriter } from "#controllers/shared/owned-pods.ts";
import { hashOf, type Revisions, removeOldRevisions, syncRevisions } from "#controllers/shared/revisions.ts";
import { writeStatusIfChanged } from "#controllers/shared/write-status.ts";
import { slowStart } from "#lib/async/slow-start.ts";
import { allOrFirstError } from "#lib/async/tasks.ts";
import { inSlices } from "#lib/async/turns.ts";
import { equal } from "#lib/data/equal.ts";
import { type Change, type Informer } from "#runtime/informer.ts";
import { againAfter, type Reconciler, type ReconcilerDeps, watch } from "#runtime/reconciler.ts";
import { daemonPod, nodeOf } from "./daemon-pod.ts";
import { FailedPods } from "./failed-pods.ts";
import { type DaemonPlan, daemonStatus, placesOf, planDaemons, strandedPods } from "./plan-nodes.ts";

/** The maximum number of pods created or deleted in one run. */
const burst = 250;

/** Runs one pod on every node that fits, and updates them node by node. */
export function daemonSetController(deps: ReconcilerDeps): Reconciler<DaemonSet> {
  const pods = deps.informers.of(Pod);
  const nodes = deps.informers.of(Node);
  const sets = deps.informers.of(DaemonSet);
  const failures = new FailedPods(deps.clock);
  return {
    name: "daemonset",
    reconciles: DaemonSet,
    owns: [Pod, ControllerRevision],
    watches: [
      watch(Pod, (change) => adopters(change, sets, ({ spec }) => spec.selector)),
      // Heartbeats change nothing that a set looks at.
      watch(Node, (change) => (isPlacementChanged(change) ? sets.list().map(({ metadata }) => metadata) : [])),
    ],

    async reconcile(set, signal) {
      if (isEmptySelector(set.spec.selector)) return refuse(deps, set);
      return againAfter(await syncSet(deps, { set, pods, nodes, failures }, signal));
    },
    async gone(ref) {
      failures.forget(ref);
    },
  };
}

interface Round {
  readonly set: DaemonSet;
  readonly pods: Informer<Pod>;
  readonly nodes: Informer<Node>;
  readonly failures: FailedPods;
}

/** Returns after how many milliseconds there is something to do without a change. */
async function syncSet(
  deps: ReconcilerDeps,
  { set, pods, nodes, failures }: Round,
  signal: AbortSignal,
): Promise<number> {
  const nowMs = deps.clock.now();
  const { selector, template } = set.spec;
  const request = { owner: set, ownerResource: DaemonSet, dependents: pods, selector };
  const owned = await claim(deps.client, request, signal);
  const { collisionCount: collisions = 0 } = set.status;
  const of = { resource: DaemonSet, owner: set, selector, template, collisions, label: revisionLabel };
  const revisions = await syncRevisions(deps, of, signal);
  const aims = { set, hash: hashOf(revisions.update), nowMs };
  const byNode = Map.groupBy(owned, nodeOf);
  const places = await inSlices(placesOf(set, nodes.list(), byNode));
  const wanted = planDaemons(aims, places);
  const complete = { ...wanted, remove: [...wanted.remove, ...strandedPods(places, byNode)] };
  const { plan, waitMs } = failures.delay(set, complete);
  if (!set.metadata.deletionTimestamp) await carryOut(deps, { set, hash: aims.hash, plan }, signal);
  const status = daemonStatus(aims, places, revisions.collisions);
  await writeStatusIfChanged(deps, { resource: DaemonSet, object: set, status }, signal);
  await forgetRevisions(deps, { set, owned, revisions }, signal);
  return Math.min(waitMs, nextAvailableMs(set, owned, nowMs));
}

async function forgetRevisions(
  deps: ReconcilerDeps,
  { set, owned, revisions }: { readonly set: DaemonSet; readonly owned: readonly Pod[]; readonly revisions: Revisions },
  signal: AbortSignal,
): Promise<void> {
  const hashes = new Set([hashOf(revisions.update), ...owned.map(({ metadata }) => metadata.labels?.[revisionLabel])]);
  const inUse = new Set(
    revisions.all.filter((revision) => hashes.has(hashOf(revision))).map(({ metadata }) => metadata.name),
  );
  await removeOldRevisions(deps, { all: revisions.all, inUse, limit: set.spec.revisionHistoryLimit }, signal);
}

function refuse({ events }: ReconcilerDeps, set: DaemonSet): undefined {
  const message = "This daemon set is selecting all pods. A non-empty selector is required.";
  events.event(referenceTo(DaemonSet, set), "Warning", "SelectingAll", message);
}

/** Whether the node is new or gone, or its labels or taints have changed. */
function isPlacementChanged(change: Change<Node>): boolean {
  if (change.type === "delete" || !change.previous) return true;
  const { object, previous } = change;
  return !equal(object.metadata.labels, previous.metadata.labels) || !equal(object.spec.taints, previous.spec.taints);
}

async function carryOut(
  deps: ReconcilerDeps,
  { set, hash, plan }: { readonly set: DaemonSet; readonly hash: string; readonly plan: DaemonPlan },
  signal: AbortSignal,
): Promise<void> {
  const writer = new PodWriter(deps, { resource: DaemonSet, owner: set }, signal);
  const about = referenceTo(DaemonSet, set);
  for (const { metadata, status, spec } of plan.ended) {
    const hasFailed = status.phase === "Failed";
    const what = `${metadata.namespace}/${metadata.name} on node ${spec.nodeName}`;
    if (hasFailed)
      deps.events.event(about, "Warning", "FailedDaemonPod", `Found failed daemon pod ${what}, will try to kill it`);
    else {
      const message = `Found succeeded daemon pod ${what}, will try to delete it`;
      deps.events.event(about, "Normal", "SucceededDaemonPod", message);
    }
  }
  const create = plan.create.slice(0, burst);
  await slowStart(create.length, (at) => writer.create(daemonPod(set, { node: create[at] ?? "", hash })));
  await allOrFirstError(plan.remove.slice(0, burst).map((pod) => writer.remove(pod)));
}

/** When the next ready pod becomes available, because no event reports that. */
function nextAvailableMs({ spec }: DaemonSet, owned: readonly Pod[], nowMs: number): number {
  const { minReadySeconds = 0 } = spec;
  if (minReadySeconds === 0) return Infinity;
  return nextAvailableAt(owned, minReadySeconds, nowMs) - nowMs;
}
