import { StatefulSet } from "#api/apps/stateful-set.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { Pod } from "#api/core/pod.ts";
import { type OwnerReference } from "#api/meta/object-meta.ts";
import { ownerRefTo } from "#api/meta/owner.ts";
import { ignoreNotFound, isAlreadyExists } from "#api/status.ts";
import { referenceTo } from "#client/events.ts";
import { equal } from "#lib/data/equal.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { type ReconcilerDeps } from "#runtime/reconciler.ts";
import { claimNames, podName } from "./member.ts";

/** Creates the claims of an ordinal that do not exist yet. They outlive the pod. */
export async function createClaims(
  { client, informers, events }: ReconcilerDeps,
  { set, ordinal }: { readonly set: StatefulSet; readonly ordinal: number },
  signal: AbortSignal,
): Promise<void> {
  const claims = informers.of(PersistentVolumeClaim);
  const { namespace, name: setName } = set.metadata;
  const names = claimNames(set, ordinal);
  for (const template of set.spec.volumeClaimTemplates ?? []) {
    const name = names.get(template.metadata.name ?? "") ?? "";
    if (claims.get({ namespace, name })) continue;
    const labels = { ...template.metadata.labels, ...set.spec.selector.matchLabels };
    const { annotations } = template.metadata;
    const metadata = { namespace, name, labels, ...(annotations ? { annotations } : {}) };
    const what = `create Claim ${name} Pod ${podName(set, ordinal)} in StatefulSet ${setName}`;
    const about = referenceTo(StatefulSet, set);
    try {
      await client.create(PersistentVolumeClaim, { metadata, spec: template.spec }, { signal });
      events.event(about, "Normal", "SuccessfulCreate", `${what} success`);
    } catch (error) {
      if (isAlreadyExists(error)) continue;
      if (!signal.aborted) events.event(about, "Warning", "FailedCreate", `${what} failed error: ${messageOf(error)}`);
      throw error;
    }
  }
}

/** Makes the claims of a pod depend on the set or on the pod, so that they are deleted when the set's policy says so. */
export async function keepClaimOwners(
  { client, informers }: ReconcilerDeps,
  { set, ordinal, pod, isCondemned }: ClaimHolder,
  signal: AbortSignal,
): Promise<void> {
  const claims = informers.of(PersistentVolumeClaim);
  for (const name of claimNames(set, ordinal).values()) {
    const claim = claims.get({ namespace: set.metadata.namespace, name });
    if (!claim || claim.metadata.deletionTimestamp) continue;
    const before = claim.metadata.ownerReferences ?? [];
    const ownerReferences = ownersOf(before, { set, ordinal, pod, isCondemned });
    if (equal(before, ownerReferences)) continue;
    const { ownerReferences: _, ...metadata } = claim.metadata;
    const changed = { ...metadata, ...(ownerReferences.length > 0 ? { ownerReferences } : {}) };
    await client.update(PersistentVolumeClaim, { ...claim, metadata: changed }, { signal }).catch(ignoreNotFound);
  }
}

export interface ClaimHolder {
  readonly set: StatefulSet;
  readonly ordinal: number;
  readonly pod: Pod;
  /** It is beyond the number of replicas. */
  readonly isCondemned: boolean;
}

/** The owners that the policy asks for, besides those that others have added. */
export function ownersOf(before: readonly OwnerReference[], { set, pod, isCondemned }: ClaimHolder): OwnerReference[] {
  const { whenDeleted, whenScaled } = set.spec.persistentVolumeClaimRetentionPolicy;
  const byScaling = whenScaled === "Delete" && isCondemned;
  const bySet = whenDeleted === "Delete" && !byScaling;
  const mine = new Set([set.metadata.uid, pod.metadata.uid]);
  const others = before.filter(({ uid }) => !mine.has(uid));
  if (bySet) return [...others, ownerRefTo(StatefulSet, set)];
  if (!byScaling) return others;
  const { controller: _, blockOwnerDeletion: __, ...reference } = ownerRefTo(Pod, pod);
  return [...others, reference];
}
