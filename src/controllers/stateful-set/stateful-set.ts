import { ControllerRevision } from "#api/apps/controller-revision.ts";
import { StatefulSet } from "#api/apps/stateful-set.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { nextAvailableAt } from "#api/core/pod/pod-state.ts";
import { Pod } from "#api/core/pod.ts";
import { claim } from "#controllers/shared/claim.ts";
import { adopters } from "#controllers/shared/dependents.ts";
import { type PodTexts, PodWriter } from "#controllers/shared/owned-pods.ts";
import {
  hashLabel,
  type Revisions,
  removeOldRevisions,
  syncRevisions,
  templateOf,
} from "#controllers/shared/revisions.ts";
import { writeStatusIfChanged } from "#controllers/shared/write-status.ts";
import { slowStart } from "#lib/async/slow-start.ts";
import { allOrFirstError } from "#lib/async/tasks.ts";
import { againAfter, type Reconciler, type ReconcilerDeps, watch } from "#runtime/reconciler.ts";
import { createClaims, keepClaimOwners } from "./claims.ts";
import {
  firstOrdinal,
  identityLabels,
  isAvailable,
  isRunningAndReady,
  memberPod,
  ordinalOf,
  revisionOf,
} from "./member.ts";
import { type MemberPlan, type Members, planMembers, sortMembers } from "./plan-members.ts";

type StatefulSetStatus = StatefulSet["status"];

/** Runs pods with lasting names and claims, one after another, and updates them from the last to the first. */
export function statefulSetController(deps: ReconcilerDeps): Reconciler<StatefulSet> {
  const pods = deps.informers.of(Pod);
  const sets = deps.informers.of(StatefulSet);
  // Asked for now, so that it is complete before the first run.
  deps.informers.of(PersistentVolumeClaim);
  return {
    name: "statefulset",
    reconciles: StatefulSet,
    owns: [Pod, ControllerRevision],
    watches: [watch(Pod, (change) => adopters(change, sets, ({ spec }) => spec.selector))],

    async reconcile(set, signal) {
      const nowMs = deps.clock.now();
      const { collisionCount: collisions = 0, currentRevision } = set.status;
      const { selector, template } = set.spec;
      const of = { resource: StatefulSet, owner: set, selector, template, collisions, label: hashLabel };
      const revisions = await syncRevisions(deps, of, signal);
      const current = revisions.all.find(({ metadata }) => metadata.name === currentRevision) ?? revisions.update;
      const isMember = (pod: Pod): boolean => ordinalOf(pod, set) !== undefined;
      const request = { owner: set, ownerResource: StatefulSet, dependents: pods, selector, adopts: isMember };
      const owned = (await claim(deps.client, request, signal)).filter(isMember);
      const members = sortMembers(set, owned);
      const updateRevision = revisions.update.metadata.name;
      const plan = planMembers(set, members, { updateRevision, nowMs });
      const round = { set, members, plan, revisions, current: current.metadata.name };
      const error = await carryOut(deps, round, signal).then(
        () => undefined,
        (error: unknown) => error ?? new Error("failed"),
      );
      signal.throwIfAborted();
      const status = statusOf(set, { owned, revisions, current: current.metadata.name, nowMs });
      await writeStatusIfChanged(deps, { resource: StatefulSet, object: set, status }, signal);
      if (error) throw error;
      const inUse = new Set([updateRevision, current.metadata.name, ...owned.map((pod) => revisionOf(pod) ?? "")]);
      const limit = set.spec.revisionHistoryLimit;
      await removeOldRevisions(deps, { all: revisions.all, inUse, limit }, signal);
      return againAfter(nextAvailableMs(set, owned, nowMs));
    },
  };
}

const textsFor = (set: StatefulSet): PodTexts => {
  const what = (verb: string, pod: string): string => `${verb} Pod ${pod} in StatefulSet ${set.metadata.name}`;
  return {
    created: (pod) => `${what("create", pod)} successful`,
    notCreated: (pod, error) => `${what("create", pod)} failed error: ${error}`,
    deleted: (pod) => `${what("delete", pod)} successful`,
    notDeleted: (pod, error) => `${what("delete", pod)} failed error: ${error}`,
  };
};

interface Round {
  readonly set: StatefulSet;
  readonly members: Members;
  readonly plan: MemberPlan;
  readonly revisions: Revisions;
  /** The name of the revision that pods have below the partition. */
  readonly current: string;
}

async function carryOut(deps: ReconcilerDeps, round: Round, signal: AbortSignal): Promise<void> {
  const { set, plan } = round;
  const writer = new PodWriter(deps, { resource: StatefulSet, owner: set, texts: textsFor(set) }, signal);
  await slowStart(plan.create.length, async (at) => {
    const ordinal = plan.create[at] ?? 0;
    await createClaims(deps, { set, ordinal }, signal);
    await writer.create(memberPod(set, { ordinal, ...versionFor(round, ordinal) }));
  });
  await keepMembers(deps, round, signal);
  await allOrFirstError(plan.remove.map((pod) => writer.remove(pod)));
}

/** Below the partition a pod gets the old template, so that a pod that dies during an update comes back as it was. */
function versionFor({ set, revisions, current }: Round, ordinal: number) {
  const { type, rollingUpdate } = set.spec.updateStrategy;
  const isOld = type === "RollingUpdate" && ordinal < firstOrdinal(set) + (rollingUpdate?.partition ?? 0);
  const revision = (isOld && revisions.all.find(({ metadata }) => metadata.name === current)) || revisions.update;
  return { revision: revision.metadata.name, template: templateOf(revision) ?? set.spec.template };
}

/** Repairs labels and claims of the pods that exist. */
async function keepMembers(deps: ReconcilerDeps, { set, members }: Round, signal: AbortSignal): Promise<void> {
  if (set.metadata.deletionTimestamp) return;
  const isCondemned = new Set(members.condemned);
  for (const pod of [...members.wanted.values(), ...members.condemned]) {
    const ordinal = ordinalOf(pod, set);
    if (ordinal === undefined) continue;
    if (pod.status.phase === "Pending") await createClaims(deps, { set, ordinal }, signal);
    await keepClaimOwners(deps, { set, ordinal, pod, isCondemned: isCondemned.has(pod) }, signal);
    const wanted = Object.entries(identityLabels(set, ordinal));
    if (wanted.every(([label, value]) => pod.metadata.labels?.[label] === value)) continue;
    const metadata = { uid: pod.metadata.uid, labels: Object.fromEntries(wanted) };
    await deps.client.patch(Pod, pod, { type: "merge", body: { metadata } }, { signal });
  }
}

interface Observed {
  readonly owned: readonly Pod[];
  readonly revisions: Revisions;
  readonly current: string;
  readonly nowMs: number;
}

function statusOf(set: StatefulSet, { owned, revisions, current, nowMs }: Observed): StatefulSetStatus {
  const update = revisions.update.metadata.name;
  const alive = owned.filter(({ metadata }) => !metadata.deletionTimestamp);
  const ready = owned.filter(isRunningAndReady).length;
  const updated = alive.filter((pod) => revisionOf(pod) === update).length;
  const isRolling = set.spec.updateStrategy.type === "RollingUpdate";
  const isDone = isRolling && updated === owned.length && ready === owned.length && owned.length === set.spec.replicas;
  const currentCount = isDone ? updated : alive.filter((pod) => revisionOf(pod) === current).length;
  const { conditions } = set.status;
  return {
    observedGeneration: set.metadata.generation ?? 0,
    replicas: owned.length,
    ...(ready ? { readyReplicas: ready } : {}),
    availableReplicas: owned.filter((pod) => isAvailable(pod, set, nowMs)).length,
    ...(currentCount ? { currentReplicas: currentCount } : {}),
    ...(updated ? { updatedReplicas: updated } : {}),
    currentRevision: isDone ? update : current,
    updateRevision: update,
    collisionCount: revisions.collisions,
    ...(conditions ? { conditions } : {}),
  };
}

/** When the next ready pod becomes available, because no event reports that. */
function nextAvailableMs({ spec }: StatefulSet, owned: readonly Pod[], nowMs: number): number | undefined {
  const { minReadySeconds = 0 } = spec;
  if (minReadySeconds === 0) return undefined;
  return nextAvailableAt(owned, minReadySeconds, nowMs) - nowMs;
}
