import { claimKeyOf } from "#api/core/persistent-volume/binding.ts";
import { PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { claimNamesOf } from "#api/core/pod/pod-references.ts";
import { isFinished } from "#api/core/pod/pod-state.ts";
import { Pod } from "#api/core/pod.ts";
import { isControlledBy } from "#api/meta/owner.ts";
import { CSIDriver } from "#api/storage/csi-driver.ts";
import { type CsiVolume, csiVolumeName } from "#api/storage/csi-volume-name.ts";
import { type Informers } from "#runtime/informer.ts";

/** A volume that must be attached before a node can mount it. */
export interface AttachableVolume {
  /** Its name in the status of a node. */
  readonly name: string;
  readonly csi: CsiVolume;
  readonly volume: PersistentVolume;
}

/** Makes these kinds known to a reconciler before it starts, so that it starts with all of them. */
export function readKinds(informers: Informers): void {
  informers.of(Pod);
  informers.of(PersistentVolume);
  informers.of(PersistentVolumeClaim);
  informers.of(CSIDriver);
}

/** The volumes that pods need on a node, each with its pods. */
export function volumesAt(informers: Informers, nodeName: string): Map<string, AttachableVolume & { pods: Pod[] }> {
  const found = new Map<string, AttachableVolume & { pods: Pod[] }>();
  for (const pod of informers.of(Pod).by("node", nodeName)) {
    const claims = claimNamesOf(pod);
    // Most pods have none, and a node is looked at with each of its reports.
    if (claims.length === 0 || !usesVolumes(pod)) continue;
    for (const claim of claims) {
      const attachable = volumeOfClaim(informers, pod, claim);
      if (!attachable) continue;
      const known = found.get(attachable.name);
      if (known && !known.pods.includes(pod)) known.pods.push(pod);
      else if (!known) found.set(attachable.name, { ...attachable, pods: [pod] });
    }
  }
  return found;
}

/** The pods on these nodes that use the volume. */
export const usersOf = (informers: Informers, volume: PersistentVolume, nodeNames: readonly string[]): Pod[] =>
  podsWithVolume(informers, volume).filter(
    (pod) => nodeNames.includes(pod.spec.nodeName ?? "") && usesVolumes(pod) && isUsing(informers, pod, volume),
  );

/** The nodes of pods that name the claim of the volume. */
export const nodesOf = (informers: Informers, volume: PersistentVolume): string[] =>
  podsWithVolume(informers, volume).flatMap(({ spec }) => spec.nodeName || []);

const podsWithVolume = (informers: Informers, { spec: { claimRef } }: PersistentVolume): readonly Pod[] =>
  claimRef ? informers.of(Pod).by("claim", claimKeyOf(claimRef)) : [];

const isUsing = (informers: Informers, pod: Pod, { metadata }: PersistentVolume): boolean =>
  claimNamesOf(pod).some((claim) => volumeOfClaim(informers, pod, claim)?.volume.metadata.name === metadata.name);

/** A pod needs its volumes until none of its containers can run any more. */
export function usesVolumes(pod: Pod): boolean {
  const { containerStatuses = [] } = pod.status;
  const hasEnded = containerStatuses.every(({ state }) => state?.terminated || state?.waiting);
  return !isFinished(pod) && !(pod.metadata.deletionTimestamp && hasEnded);
}

/** The volume behind a claim, if the pod may use it and it must be attached. */
function volumeOfClaim(informers: Informers, pod: Pod, name: string): AttachableVolume | undefined {
  const claim = informers.of(PersistentVolumeClaim).get({ namespace: pod.metadata.namespace, name });
  if (claim?.status.phase !== "Bound" || !claim.spec.volumeName) return undefined;
  const isNamed = pod.spec.volumes?.some((volume) => volume.persistentVolumeClaim?.claimName === name);
  if (!isNamed && !isControlledBy(claim, pod)) return undefined;
  const volume = informers.of(PersistentVolume).get({ name: claim.spec.volumeName });
  // A user may write the name of any volume into a claim, so the volume has the last word.
  if (!volume || volume.spec.claimRef?.uid !== claim.metadata.uid) return undefined;
  return attachableOf(informers, volume);
}

/** Volumes of a driver that nobody describes are attached, as upstream does. */
export function attachableOf(informers: Informers, volume: PersistentVolume): AttachableVolume | undefined {
  const { csi } = volume.spec;
  if (!csi || informers.of(CSIDriver).get({ name: csi.driver })?.spec.attachRequired === false) return undefined;
  return { name: csiVolumeName(csi), csi, volume };
}
