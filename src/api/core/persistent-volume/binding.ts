import { type PersistentVolume } from "./persistent-volume.ts";
import { type PersistentVolumeClaim } from "./persistent-volume-claim.ts";

/** Annotations by which the binder, the scheduler and provisioners tell each other how far a binding is. */

/** On a claim: its binding was complete once, so the data is lost if the volume disappears. */
export const bindCompletedAnnotation = "pv.kubernetes.io/bind-completed";
/** The controller chose the other side of the binding, so it may also undo it. */
export const boundByControllerAnnotation = "pv.kubernetes.io/bound-by-controller";
/** On a volume: the provisioner that made it, which also deletes it. */
export const provisionedByAnnotation = "pv.kubernetes.io/provisioned-by";
/** On a claim: the provisioner that is asked for a volume, under its present and its older name. */
export const provisionerAnnotation = "volume.kubernetes.io/storage-provisioner";
export const betaProvisionerAnnotation = "volume.beta.kubernetes.io/storage-provisioner";
/** On a claim: the node of the first pod that uses it, where the volume must be reachable. */
export const selectedNodeAnnotation = "volume.kubernetes.io/selected-node";

/** The provisioner of classes whose volumes are made by hand. */
export const noProvisioner = "kubernetes.io/no-provisioner";

type Names = { readonly namespace?: string | undefined; readonly name?: string | undefined };
/** `namespace/name`, the key of the index `claim` of volumes. */
export const claimKeyOf = ({ namespace = "", name = "" }: Names): string => `${namespace}/${name}`;

/** Whether the volume is meant for this claim. One that is only named may be a later claim of that name. */
export function isMeantFor({ spec: { claimRef } }: PersistentVolume, { metadata }: PersistentVolumeClaim): boolean {
  if (!claimRef || claimKeyOf(claimRef) !== claimKeyOf(metadata)) return false;
  return !claimRef.uid || claimRef.uid === metadata.uid;
}

export const isBindComplete = ({ metadata }: Pick<PersistentVolumeClaim, "metadata">): boolean =>
  metadata.annotations?.[bindCompletedAnnotation] !== undefined;

/** Whether the claim and its volume name each other, and the binding is complete. */
export const isFullyBound = (claim: PersistentVolumeClaim): boolean =>
  Boolean(claim.spec.volumeName) && isBindComplete(claim) && claim.status.phase === "Bound";
