import { type Deployment, type DeploymentCondition, type DeploymentStatus } from "#api/apps/deployment.ts";
import { type ReplicaSet } from "#api/apps/replica-set.ts";
import { findCondition } from "#api/meta/condition.ts";
import { timestamp } from "#lib/async/clock.ts";
import { hasProgressDeadline, maxUnavailable } from "./limits.ts";

export interface Outcome {
  readonly newSet: ReplicaSet | undefined;
  readonly oldSets: readonly ReplicaSet[];
  /** The new set was created in this run. */
  readonly created: boolean;
  readonly isRollout: boolean;
  readonly nowMs: number;
}

type Conditions = readonly DeploymentCondition[];

/** The desired status of the deployment. */
export function deploymentStatus(deployment: Deployment, outcome: Outcome): DeploymentStatus {
  const { newSet, isRollout, nowMs } = outcome;
  // First what was just done, then its effect: progress is judged against the conditions after that.
  const before = noteSet(deployment, notePause(deployment, nowMs), outcome);
  const counts = countsOf(deployment, outcome);
  let conditions = noteAvailability(deployment, before, { counts, nowMs });
  if (isRollout) {
    conditions = noteProgress(deployment, { conditions, before, counts, newSet, nowMs });
    conditions = noteFailures(conditions, outcome);
  }
  return { ...counts, ...(conditions.length > 0 ? { conditions: [...conditions] } : {}) };
}

/** All desired pods exist, have the newest template, and are available. */
export const isComplete = ({ spec, metadata }: Deployment, status: DeploymentStatus): boolean =>
  (status.updatedReplicas ?? 0) === spec.replicas &&
  (status.replicas ?? 0) === spec.replicas &&
  (status.availableReplicas ?? 0) === spec.replicas &&
  (status.observedGeneration ?? 0) >= (metadata.generation ?? 0);

/** When a rollout without progress must be checked again; undefined if that is not needed. */
export function nextProgressCheckMs(
  deployment: Deployment,
  status: DeploymentStatus,
  nowMs: number,
): number | undefined {
  const progressing = findCondition(status.conditions, "Progressing");
  if (!hasProgressDeadline(deployment) || !progressing || deployment.spec.paused) return undefined;
  if (isComplete(deployment, status) || progressing.reason === "ProgressDeadlineExceeded") return undefined;
  return Math.max(0, deadlineMs(deployment, progressing) - nowMs) + 1000;
}

const deadlineMs = ({ spec }: Deployment, { lastUpdateTime }: DeploymentCondition): number =>
  Date.parse(lastUpdateTime ?? "") + spec.progressDeadlineSeconds * 1000;

/** The deadline of a paused deployment does not run. */
function notePause({ spec, status }: Deployment, nowMs: number): Conditions {
  const { conditions = [] } = status;
  const current = findCondition(conditions, "Progressing");
  if (!hasProgressDeadline({ spec }) || current?.reason === "ProgressDeadlineExceeded") return conditions;
  const isPaused = current?.reason === "DeploymentPaused";
  if (spec.paused && !isPaused) {
    return withCondition(conditions, progress("Unknown", "DeploymentPaused", "Deployment is paused"), nowMs);
  }
  if (!spec.paused && isPaused) {
    return withCondition(conditions, progress("Unknown", "DeploymentResumed", "Deployment is resumed"), nowMs);
  }
  return conditions;
}

function noteSet(deployment: Deployment, conditions: Conditions, { newSet, created, nowMs }: Outcome): Conditions {
  if (!newSet || deployment.metadata.deletionTimestamp || !hasProgressDeadline(deployment)) return conditions;
  const { name } = newSet.metadata;
  if (created) {
    return withCondition(
      conditions,
      progress("True", "NewReplicaSetCreated", `Created new replica set "${name}"`),
      nowMs,
    );
  }
  if (findCondition(conditions, "Progressing")) return conditions;
  return withCondition(conditions, progress("True", "FoundNewReplicaSet", `Found new replica set "${name}"`), nowMs);
}

/** The numbers, summed over the sets. */
function countsOf({ metadata, status }: Deployment, { newSet, oldSets }: Outcome): DeploymentStatus {
  const sets = newSet ? [...oldSets, newSet] : oldSets;
  const sum = (count: (set: ReplicaSet) => number | undefined): number =>
    sets.reduce((total, set) => total + (count(set) ?? 0), 0);
  const available = sum((set) => set.status.availableReplicas);
  const wanted = sum((set) => set.spec.replicas);
  const counts = {
    observedGeneration: metadata.generation ?? 0,
    replicas: sum((set) => set.status.replicas),
    updatedReplicas: newSet?.status.replicas ?? 0,
    readyReplicas: sum((set) => set.status.readyReplicas),
    availableReplicas: available,
    unavailableReplicas: Math.max(0, wanted - available),
  };
  const terminating = terminatingOf(sets);
  return {
    ...Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== 0)),
    ...(terminating === undefined ? {} : { terminatingReplicas: terminating }),
    ...(status.collisionCount === undefined ? {} : { collisionCount: status.collisionCount }),
  };
}

/** Undefined as long as one of the sets does not report it. */
function terminatingOf(sets: readonly ReplicaSet[]): number | undefined {
  let sum = 0;
  for (const { status } of sets) {
    if (status.terminatingReplicas === undefined && status.observedGeneration) return undefined;
    sum += status.terminatingReplicas ?? 0;
  }
  return sum;
}

function noteAvailability(
  deployment: Deployment,
  conditions: Conditions,
  { counts, nowMs }: { counts: DeploymentStatus; nowMs: number },
): Conditions {
  const isAvailable = (counts.availableReplicas ?? 0) >= deployment.spec.replicas - maxUnavailable(deployment);
  const news = isAvailable
    ? { status: "True", reason: "MinimumReplicasAvailable", message: "Deployment has minimum availability." }
    : {
        status: "False",
        reason: "MinimumReplicasUnavailable",
        message: "Deployment does not have minimum availability.",
      };
  return withCondition(conditions, { type: "Available", ...news }, nowMs);
}

interface Judgement {
  readonly conditions: Conditions;
  /** The conditions before the current counts. */
  readonly before: Conditions;
  readonly counts: DeploymentStatus;
  readonly newSet: ReplicaSet | undefined;
  readonly nowMs: number;
}

/** Complete, progressing, or timed out. */
function noteProgress(deployment: Deployment, judgement: Judgement): Conditions {
  const { conditions, before, counts, newSet, nowMs } = judgement;
  const others = conditions.filter(({ type }) => type !== "Progressing");
  if (!hasProgressDeadline(deployment)) return others;
  const current = findCondition(before, "Progressing");
  const wasDone = current?.reason === "NewReplicaSetAvailable";
  if (wasDone && (counts.replicas ?? 0) === (counts.updatedReplicas ?? 0)) return conditions;
  const subject = newSet ? `ReplicaSet "${newSet.metadata.name}"` : `Deployment "${deployment.metadata.name}"`;
  if (isComplete(deployment, counts)) {
    const message = `${subject} has successfully progressed.`;
    return withCondition(conditions, progress("True", "NewReplicaSetAvailable", message), nowMs);
  }
  if (hasMoved(deployment.status, counts)) {
    // Even if it says the same as before, because the deadline counts from its time.
    const moved = stamped(progress("True", "ReplicaSetUpdated", `${subject} is progressing.`), nowMs);
    return [...others, current?.status === "True" ? withTransition(moved, current) : moved];
  }
  if (current && !wasDone && isOverdue(deployment, current, nowMs)) {
    const message = `${subject} has timed out progressing.`;
    return withCondition(conditions, progress("False", "ProgressDeadlineExceeded", message), nowMs);
  }
  return conditions;
}

const isOverdue = (deployment: Deployment, current: DeploymentCondition, nowMs: number): boolean =>
  current.reason === "ProgressDeadlineExceeded" || deadlineMs(deployment, current) < nowMs;

/** More new pods, fewer old ones, or more that are ready or available. */
function hasMoved(old: DeploymentStatus, now: DeploymentStatus): boolean {
  const oldOnes = ({ replicas = 0, updatedReplicas = 0 }: DeploymentStatus): number => replicas - updatedReplicas;
  return (
    (now.updatedReplicas ?? 0) > (old.updatedReplicas ?? 0) ||
    oldOnes(now) < oldOnes(old) ||
    (now.readyReplicas ?? 0) > (old.readyReplicas ?? 0) ||
    (now.availableReplicas ?? 0) > (old.availableReplicas ?? 0)
  );
}

/** A set that cannot create its pods makes the deployment fail; the new set takes precedence. */
function noteFailures(conditions: Conditions, { newSet, oldSets, nowMs }: Outcome): Conditions {
  const sets = newSet ? [newSet, ...oldSets] : oldSets;
  for (const { status } of sets) {
    const failure = findCondition(status.conditions, "ReplicaFailure");
    if (!failure) continue;
    const { lastTransitionTime, ...rest } = failure;
    const times = lastTransitionTime ? { lastTransitionTime, lastUpdateTime: lastTransitionTime } : {};
    return withCondition(conditions, { ...rest, ...times }, nowMs);
  }
  return conditions.filter(({ type }) => type !== "ReplicaFailure");
}

const progress = (status: string, reason: string, message: string): DeploymentCondition => ({
  type: "Progressing",
  status,
  reason,
  message,
});

function stamped(condition: DeploymentCondition, nowMs: number): DeploymentCondition {
  const now = timestamp(nowMs);
  return { lastUpdateTime: now, lastTransitionTime: now, ...condition };
}

const withTransition = (condition: DeploymentCondition, { lastTransitionTime }: DeploymentCondition) => ({
  ...condition,
  ...(lastTransitionTime ? { lastTransitionTime } : {}),
});

/** Adds this condition at the end; returns the list unchanged if the condition is not new. */
export function withCondition(conditions: Conditions, news: DeploymentCondition, nowMs: number): Conditions {
  const current = findCondition(conditions, news.type);
  if (current?.status === news.status && current.reason === news.reason) return conditions;
  const condition = stamped(news, nowMs);
  const others = conditions.filter((other) => other !== current);
  return [...others, current?.status === news.status ? withTransition(condition, current) : condition];
}
