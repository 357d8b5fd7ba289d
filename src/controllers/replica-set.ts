import { ReplicaSet, type ReplicaSetStatus } from "#api/apps/replica-set.ts";
import { Pod } from "#api/core/pod.ts";
import { availableAt, isActive, isReady, isTerminating } from "#api/core/pod-state.ts";
import { findCondition } from "#api/meta/condition.ts";
import { matches, matchesLabels } from "#api/meta/label-selector.ts";
import { controllerOf, ownerRefTo } from "#api/meta/owner.ts";
import { type InputOf } from "#api/resource.ts";
import { isNotFound } from "#api/status.ts";
import { createEventRecorder, type EventRecorder, referenceTo } from "#client/events.ts";
import { timestamp } from "#lib/clock.ts";
import { equal } from "#lib/equal.ts";
import { messageOf } from "#lib/message-of.ts";
import { slowStart } from "#lib/slow-start.ts";
import { type Change, type Informer } from "#runtime/informer.ts";
import { type Again, type Reconciler, type ReconcilerDeps } from "#runtime/reconciler.ts";
import { claim } from "./claim.ts";
import { isNamespaceEnding } from "./namespace-ending.ts";
import { Pace } from "./pace.ts";
import { planReplicas, type ReplicaPlan } from "./plan-replicas.ts";

/** Keeps as many pods as a ReplicaSet asks for. */
export function replicaSetController(deps: ReconcilerDeps): Reconciler<ReplicaSet> {
  const { client, informers, clock } = deps;
  const pods = informers.of(Pod);
  const sets = informers.of(ReplicaSet);
  const events = createEventRecorder(client, { ...deps, component: "replicaset-controller" });
  const pace = new Pace(clock);
  return {
    name: "replicaset",
    reconciles: ReplicaSet,
    owns: [Pod],
    watches: [{ resource: Pod, wakes: (change: Change<Pod>) => adopters(change, sets) }],

    async reconcile(rs, signal) {
      const waitMs = pace.waitMs(rs);
      if (waitMs > 0) return { afterMs: waitMs };
      const { namespace = "", uid = "" } = rs.metadata;
      const owned = pods.by("controller", uid);
      const active = await claim(
        client,
        {
          owner: rs,
          ownerResource: ReplicaSet,
          resource: Pod,
          selector: rs.spec.selector,
          owned: owned.filter(isActive),
          orphans: pods.by("orphan", namespace).filter(isActive),
        },
        signal,
      );
      const ending = owned.filter((pod) => isTerminating(pod) && matches(rs.spec.selector, pod.metadata.labels));

      const related = () => relatedPods(rs, { sets, pods });
      const plan = rs.metadata.deletionTimestamp ? nothing : planFor(rs, { active, related, nowMs: clock.now() });
      const failure = await carryOut({ ...deps, events }, { rs, plan }, signal);
      const counts = { active, terminating: ending.length, failure };
      await writeStatus(deps, { rs, status: replicaSetStatus(rs, counts, clock.now()) }, signal);
      if (failure) throw failure.error;
      if (plan === nothing) pace.settled(rs, active.length);
      else pace.forget(rs.metadata);
      return nextCheck(rs, active, clock.now());
    },
    async gone(ref) {
      pace.forget(ref);
    },
  };
}

const nothing: ReplicaPlan = { create: 0, remove: [] };

function planFor(
  { spec }: ReplicaSet,
  { active, related, nowMs }: { active: readonly Pod[]; related: () => Pod[]; nowMs: number },
): ReplicaPlan {
  if (active.length === spec.replicas) return nothing;
  const others = active.length > spec.replicas ? related() : [];
  return planReplicas(spec.replicas, { active, related: others, nowMs });
}

/** A new pod without a controller, or one whose labels changed, may be what a set of its namespace is waiting for. */
function* adopters(change: Change<Pod>, sets: Informer<ReplicaSet>): Iterable<{ namespace: string; name: string }> {
  const { metadata } = change.object;
  if (change.type === "delete" || controllerOf(change.object) || metadata.deletionTimestamp) return;
  const { previous } = change;
  if (previous && !controllerOf(previous) && equal(previous.metadata.labels, metadata.labels)) return;
  for (const set of sets.list(metadata.namespace)) {
    if (!matches(set.spec.selector, metadata.labels)) continue;
    yield { namespace: metadata.namespace ?? "", name: set.metadata.name ?? "" };
  }
}

/** The pods of all sets that the same deployment owns. */
function relatedPods(rs: ReplicaSet, { sets, pods }: { sets: Informer<ReplicaSet>; pods: Informer<Pod> }): Pod[] {
  const owner = controllerOf(rs);
  if (!owner) return [];
  return sets.by("controller", owner.uid).flatMap(({ metadata }) => pods.by("controller", metadata.uid ?? ""));
}

interface Failure {
  readonly error: unknown;
  readonly reason: "FailedCreate" | "FailedDelete";
}

/** Does what was planned, tells of it, and says what went wrong. */
async function carryOut(
  { client, events }: ReconcilerDeps & { readonly events: EventRecorder },
  { rs, plan }: { readonly rs: ReplicaSet; readonly plan: ReplicaPlan },
  signal: AbortSignal,
): Promise<Failure | undefined> {
  const about = referenceTo(ReplicaSet, rs);
  const create = async (): Promise<void> => {
    try {
      const pod = await client.create(Pod, podFor(rs), { signal });
      events.event(about, "Normal", "SuccessfulCreate", `Created pod: ${pod.metadata.name}`);
    } catch (error) {
      // Whatever is tried in this namespace will fail: there is nothing to tell and nothing to wait for.
      if (isNamespaceEnding(error)) return;
      if (!signal.aborted) events.event(about, "Warning", "FailedCreate", `Error creating: ${messageOf(error)}`);
      throw error;
    }
  };
  const remove = async (pod: Pod): Promise<void> => {
    const { uid = "", name } = pod.metadata;
    try {
      await client.delete(Pod, pod, { preconditions: { uid }, signal });
      events.event(about, "Normal", "SuccessfulDelete", `Deleted pod: ${name}`);
    } catch (error) {
      if (isNotFound(error)) return;
      if (!signal.aborted) events.event(about, "Warning", "FailedDelete", `Error deleting: ${messageOf(error)}`);
      throw error;
    }
  };
  try {
    // Doubling batches: a full quota then costs one refused request, not five hundred.
    await slowStart(plan.create, create);
    const removed = await Promise.allSettled(plan.remove.map(remove));
    for (const result of removed) if (result.status === "rejected") throw result.reason;
    return undefined;
  } catch (error) {
    if (signal.aborted) throw error;
    return { error, reason: plan.create > 0 ? "FailedCreate" : "FailedDelete" };
  }
}

/** The pod that a set makes: its template, owned by it. */
export function podFor(rs: ReplicaSet): InputOf<Pod> {
  const { metadata, spec } = rs.spec.template;
  const { labels, annotations, finalizers } = metadata;
  return {
    metadata: {
      namespace: rs.metadata.namespace ?? "",
      generateName: `${rs.metadata.name}-`,
      ...(labels ? { labels } : {}),
      ...(annotations ? { annotations } : {}),
      ...(finalizers ? { finalizers } : {}),
      ownerReferences: [ownerRefTo(ReplicaSet, rs)],
    },
    spec,
  };
}

export interface ReplicaCounts {
  readonly active: readonly Pod[];
  readonly terminating: number;
  readonly failure?: Failure | undefined;
}

/** What the set's status should say. */
export function replicaSetStatus(
  rs: ReplicaSet,
  { active, terminating, failure }: ReplicaCounts,
  nowMs: number,
): ReplicaSetStatus {
  const { template, minReadySeconds = 0 } = rs.spec;
  const labels = template.metadata.labels ?? {};
  let labeled = 0;
  let ready = 0;
  let available = 0;
  for (const pod of active) {
    if (matchesLabels(labels, pod.metadata.labels)) labeled++;
    if (!isReady(pod)) continue;
    ready++;
    if ((availableAt(pod, minReadySeconds) ?? Infinity) <= nowMs) available++;
  }
  const conditions = failureConditions(rs, failure, nowMs);
  return {
    replicas: active.length,
    ...(labeled ? { fullyLabeledReplicas: labeled } : {}),
    ...(ready ? { readyReplicas: ready } : {}),
    ...(available ? { availableReplicas: available } : {}),
    terminatingReplicas: terminating,
    ...(rs.metadata.generation ? { observedGeneration: rs.metadata.generation } : {}),
    ...(conditions.length > 0 ? { conditions } : {}),
  };
}

/** A failure is noted once, and forgotten with the first round that goes well. */
function failureConditions(rs: ReplicaSet, failure: Failure | undefined, nowMs: number) {
  const { conditions = [] } = rs.status;
  const known = findCondition(conditions, "ReplicaFailure");
  if (!failure) return known ? conditions.filter((condition) => condition !== known) : conditions;
  if (known) return conditions;
  const { reason, error } = failure;
  const lastTransitionTime = timestamp(nowMs);
  const message = messageOf(error);
  return [...conditions, { type: "ReplicaFailure", status: "True", lastTransitionTime, reason, message }];
}

async function writeStatus(
  { client }: ReconcilerDeps,
  { rs, status }: { readonly rs: ReplicaSet; readonly status: ReplicaSetStatus },
  signal: AbortSignal,
): Promise<void> {
  if (!equal(status, rs.status)) await client.updateStatus(ReplicaSet, { ...rs, status }, { signal });
}

/** When the next ready pod becomes available, which no event will tell. */
function nextCheck({ spec }: ReplicaSet, active: readonly Pod[], nowMs: number): Again | undefined {
  if (!spec.minReadySeconds) return undefined;
  let next = Infinity;
  for (const pod of active) {
    const at = availableAt(pod, spec.minReadySeconds);
    if (at !== undefined && at > nowMs) next = Math.min(next, at);
  }
  return next === Infinity ? undefined : { afterMs: next - nowMs };
}
