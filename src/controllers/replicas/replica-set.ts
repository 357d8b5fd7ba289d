import { ReplicaSet, type ReplicaSetStatus } from "#api/apps/replica-set.ts";
import { availableAt, isActive, isReady, isTerminating, nextAvailableAt } from "#api/core/pod/pod-state.ts";
import { Pod } from "#api/core/pod.ts";
import { type PodTemplateSpec } from "#api/core/pod-template.ts";
import { findCondition } from "#api/meta/condition.ts";
import { type LabelSelector, matchesLabels } from "#api/meta/label-selector.ts";
import { controllerOf } from "#api/meta/owner.ts";
import { matches } from "#api/meta/selector-matchers.ts";
import { type Resource, type Stored } from "#api/resource.ts";
import { claim } from "#controllers/shared/claim.ts";
import { adopters, ownedBy } from "#controllers/shared/dependents.ts";
import { type PodOwner, PodWriter, podFrom } from "#controllers/shared/owned-pods.ts";
import { writeStatusIfChanged } from "#controllers/shared/write-status.ts";
import { timestamp } from "#lib/async/clock.ts";
import { slowStart } from "#lib/async/slow-start.ts";
import { allOrFirstError } from "#lib/async/tasks.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { type Informer } from "#runtime/informer.ts";
import { type Again, againAfter, type Reconciler, type ReconcilerDeps, watch } from "#runtime/reconciler.ts";
import { Pace } from "../pace.ts";
import { planReplicas, type ReplicaPlan } from "./plan-replicas.ts";

/** What this controller requires of a kind. */
export interface ReplicaOwner extends Stored {
  spec: { replicas: number; minReadySeconds?: number; template?: PodTemplateSpec };
  status: ReplicaSetStatus;
}

/** The differences between the kinds. */
export interface ReplicaKind<T extends ReplicaOwner> {
  readonly name: string;
  readonly resource: Resource<T>;
  readonly countsTerminating: boolean;
  selectorOf(owner: T): LabelSelector;
}

/** Maintains the number of pods of a ReplicaSet. */
export const replicaSetController = replicaController<ReplicaSet>({
  name: "replicaset",
  resource: ReplicaSet,
  countsTerminating: true,
  selectorOf: ({ spec }) => spec.selector,
});

/** Maintains the number of pods of each object of a kind. */
export function replicaController<T extends ReplicaOwner>(
  kind: ReplicaKind<T>,
): (deps: ReconcilerDeps) => Reconciler<T> {
  const { resource, selectorOf } = kind;
  return (deps) => {
    const { client, informers, clock } = deps;
    const pods = informers.of(Pod);
    const owners = informers.of(resource);
    const pace = new Pace(clock);
    return {
      name: kind.name,
      reconciles: resource,
      owns: [Pod],
      watches: [watch(Pod, (change) => adopters(change, owners, selectorOf))],

      async reconcile(owner, signal) {
        const waitMs = pace.waitMs(owner);
        if (waitMs > 0) return againAfter(waitMs);
        const owned = ownedBy(pods, owner);
        const selector = selectorOf(owner);
        const request = { owner, ownerResource: resource, dependents: pods, selector, concerns };
        const active = await claim(client, request, signal);
        const isEnding = (pod: Pod) => isTerminating(pod) && matches(selector, pod.metadata.labels);
        const terminating = kind.countsTerminating ? owned.filter(isEnding).length : undefined;

        const related = () => relatedPods(owner, { owners, pods });
        const isDeleted = owner.metadata.deletionTimestamp !== undefined;
        const plan = isDeleted ? nothing : planFor(owner, { active, related, nowMs: clock.now() });
        const failure = await carryOut(deps, { resource, owner, plan }, signal);
        const nowMs = clock.now();
        const status = replicaSetStatus(owner, { active, terminating, failure }, nowMs);
        await writeStatusIfChanged(deps, { resource, object: owner, status }, signal);
        if (failure) throw failure.error;
        if (plan === nothing) pace.settled(owner, active.length);
        else pace.forget(owner.metadata);
        // From the same moment: a pod that becomes available in between must be in one or the other.
        return nextCheck(owner, active, nowMs);
      },
      async gone(ref) {
        pace.forget(ref);
      },
    };
  };
}

/** Pods that have ended, or are about to, count as absent. */
const concerns = (pod: Pod): boolean => isActive(pod);
const nothing: ReplicaPlan = { create: 0, remove: [] };

function planFor(
  { spec }: ReplicaOwner,
  { active, related, nowMs }: { active: readonly Pod[]; related: () => Pod[]; nowMs: number },
): ReplicaPlan {
  if (active.length === spec.replicas) return nothing;
  const others = active.length > spec.replicas ? related() : [];
  return planReplicas(spec.replicas, { active, related: others, nowMs });
}

/** The pods of all sets of the same deployment. */
function relatedPods<T extends ReplicaOwner>(
  set: T,
  { owners, pods }: { owners: Informer<T>; pods: Informer<Pod> },
): Pod[] {
  const owner = controllerOf(set);
  if (!owner) return [];
  return owners.by("controller", owner.uid).flatMap((sibling) => ownedBy(pods, sibling));
}

interface Failure {
  readonly error: unknown;
  readonly reason: "FailedCreate" | "FailedDelete";
}

/** Carries out the plan, and returns what went wrong. */
async function carryOut<T extends ReplicaOwner>(
  deps: ReconcilerDeps,
  { plan, ...of }: PodOwner<T> & { readonly plan: ReplicaPlan },
  signal: AbortSignal,
): Promise<Failure | undefined> {
  const writer = new PodWriter(deps, of, signal);
  try {
    await slowStart(plan.create, () => writer.create(podFrom(of.resource, of.owner, of.owner.spec.template)));
    await allOrFirstError(plan.remove.map((pod) => writer.remove(pod)));
    return undefined;
  } catch (error) {
    if (signal.aborted) throw error;
    return { error, reason: plan.create > 0 ? "FailedCreate" : "FailedDelete" };
  }
}

export interface ReplicaCounts {
  readonly active: readonly Pod[];
  /** Only for kinds that count them. */
  readonly terminating?: number | undefined;
  readonly failure?: Failure | undefined;
}

/** The desired status of the set. */
export function replicaSetStatus(
  owner: ReplicaOwner,
  { active, terminating, failure }: ReplicaCounts,
  nowMs: number,
): ReplicaSetStatus {
  const { template, minReadySeconds = 0 } = owner.spec;
  const labels = template?.metadata.labels ?? {};
  let labeled = 0;
  let ready = 0;
  let available = 0;
  for (const pod of active) {
    if (matchesLabels(labels, pod.metadata.labels)) labeled++;
    if (!isReady(pod)) continue;
    ready++;
    if ((availableAt(pod, minReadySeconds) ?? Infinity) <= nowMs) available++;
  }
  const conditions = failureConditions(owner, failure, nowMs);
  return {
    replicas: active.length,
    ...(labeled ? { fullyLabeledReplicas: labeled } : {}),
    ...(ready ? { readyReplicas: ready } : {}),
    ...(available ? { availableReplicas: available } : {}),
    ...(terminating === undefined ? {} : { terminatingReplicas: terminating }),
    ...(owner.metadata.generation ? { observedGeneration: owner.metadata.generation } : {}),
    ...(conditions.length > 0 ? { conditions } : {}),
  };
}

/** A failure is recorded once, and removed after the first successful run. */
function failureConditions({ status }: ReplicaOwner, failure: Failure | undefined, nowMs: number) {
  const { conditions = [] } = status;
  const known = findCondition(conditions, "ReplicaFailure");
  if (!failure) return known ? conditions.filter((condition) => condition !== known) : conditions;
  if (known) return conditions;
  const { reason, error } = failure;
  const lastTransitionTime = timestamp(nowMs);
  const message = messageOf(error);
  return [...conditions, { type: "ReplicaFailure", status: "True", lastTransitionTime, reason, message }];
}

/** When the next ready pod becomes available, because no event reports that. */
function nextCheck({ spec }: ReplicaOwner, active: readonly Pod[], nowMs: number): Again | undefined {
  if (!spec.minReadySeconds) return undefined;
  return againAfter(nextAvailableAt(active, spec.minReadySeconds, nowMs) - nowMs);
}
