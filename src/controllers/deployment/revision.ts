import { type Deployment } from "#api/apps/deployment.ts";
import { type ReplicaSet } from "#api/apps/replica-set.ts";
import { lastAppliedAnnotation, revisionAnnotation } from "#api/well-known.ts";
import { maxSurge } from "./limits.ts";

const historyKey = "deployment.kubernetes.io/revision-history";
const desiredKey = "deployment.kubernetes.io/desired-replicas";
const maxKey = "deployment.kubernetes.io/max-replicas";

/** Annotations of the deployment itself, or of a single revision. */
const notCopied = new Set([
  lastAppliedAnnotation,
  revisionAnnotation,
  historyKey,
  desiredKey,
  maxKey,
  "deprecated.deployment.rollback.to",
]);
const maxHistoryLength = 2000;

type Annotations = Record<string, string>;

/** 0 if there is none, undefined if it is not a number. All 64 bits count, because adopted sets may have any number. */
export function revisionOf({
  metadata,
}: {
  readonly metadata: Pick<ReplicaSet["metadata"], "annotations">;
}): bigint | undefined {
  const text = metadata.annotations?.[revisionAnnotation];
  if (text === undefined) return 0n;
  return /^[-+]?\d{1,19}$/.test(text) ? BigInt(text.replace("+", "")) : undefined;
}

/** The revision number after those of these sets. */
export function nextRevision(oldSets: readonly ReplicaSet[]): bigint {
  let highest = 0n;
  for (const set of oldSets) {
    const revision = revisionOf(set) ?? 0n;
    if (revision > highest) highest = revision;
  }
  return highest + 1n;
}

/** The annotations of the set with the deployment's template: those of the deployment, and its revision. */
export function newSetAnnotations(
  deployment: Deployment,
  current: Readonly<Annotations> | undefined,
  revision: bigint,
): Annotations {
  const annotations: Annotations = { ...current };
  for (const [key, value] of Object.entries(deployment.metadata.annotations ?? {})) {
    if (!notCopied.has(key)) annotations[key] = value;
  }
  const before = current?.[revisionAnnotation];
  const old = before ? revisionOf({ metadata: { annotations } }) : 0n;
  if (old === undefined || old >= revision) return annotations;
  annotations[revisionAnnotation] = String(revision);
  // The set already had a revision, so this is a rollback: the old number is remembered.
  if (before !== undefined) annotations[historyKey] = longerHistory(annotations[historyKey], before);
  return annotations;
}

/** The oldest entries are dropped when the history gets too long. */
function longerHistory(history: string | undefined, revision: string): string {
  const revisions = [...(history ? history.split(",") : []), revision];
  while (revisions.length > 1 && revisions.join(",").length > maxHistoryLength) revisions.shift();
  return revisions.join(",");
}

/** These distinguish a change of the deployment's size from a step of its rollout. */
export function sizeAnnotations({ spec }: Deployment): Annotations {
  return { [desiredKey]: String(spec.replicas), [maxKey]: String(spec.replicas + maxSurge({ spec })) };
}

export const desiredReplicasOf = (set: ReplicaSet): number | undefined => countIn(set, desiredKey);
export const maxReplicasOf = (set: ReplicaSet): number | undefined => countIn(set, maxKey);

function countIn({ metadata }: ReplicaSet, key: string): number | undefined {
  const text = metadata.annotations?.[key];
  if (text === undefined || !/^\d{1,10}$/.test(text)) return undefined;
  const count = Number(text);
  return count < 2 ** 31 ? count : undefined;
}
