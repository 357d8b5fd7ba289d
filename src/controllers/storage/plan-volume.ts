import { boundByControllerAnnotation, provisionedByAnnotation } from "#api/core/persistent-volume/binding.ts";
import { hasVolumeMode } from "#api/core/persistent-volume/match-volume.ts";
import { type PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { type PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";

/** The next step for a volume. */
export type VolumePlan =
  | { readonly step: "phase"; readonly phase: VolumePhase }
  /** It cannot be reclaimed. */
  | { readonly step: "fail"; readonly reason: string; readonly message: string }
  /** Its claim has another volume: it forgets the claim, or only which claim of that name it was. */
  | { readonly step: "unbind"; readonly forgets: "claim" | "uid" }
  /** It can never be bound to the claim that it names. */
  | { readonly step: "mismatch"; readonly claim: PersistentVolumeClaim }
  | { readonly step: "none" };

export type VolumePhase = "Available" | "Bound" | "Released";

const none: VolumePlan = { step: "none" };

/** The claim is the one that the volume names, if it exists; one of that name with another UID is another claim. */
export function planVolume(volume: PersistentVolume, claim: PersistentVolumeClaim | undefined): VolumePlan {
  const { claimRef } = volume.spec;
  if (!claimRef?.uid) return phase(volume, "Available");
  if (!claim || claim.metadata.uid !== claimRef.uid) return planRelease(volume);
  if (!claim.spec.volumeName) return hasVolumeMode(volume, claim) ? none : { step: "mismatch", claim };
  if (claim.spec.volumeName === volume.metadata.name) return phase(volume, "Bound");
  const { annotations } = volume.metadata;
  const isSpare =
    annotations?.[provisionedByAnnotation] !== undefined && volume.spec.persistentVolumeReclaimPolicy === "Delete";
  if (isSpare) return planRelease(volume);
  return { step: "unbind", forgets: annotations?.[boundByControllerAnnotation] === undefined ? "uid" : "claim" };
}

/** Nobody uses the volume any more. Whoever provisioned it also deletes it. */
function planRelease(volume: PersistentVolume): VolumePlan {
  const { phase: now } = volume.status;
  if (now !== "Released" && now !== "Failed") return { step: "phase", phase: "Released" };
  if (now === "Failed") return none;
  const provisioner = volume.metadata.annotations?.[provisionedByAnnotation];
  switch (volume.spec.persistentVolumeReclaimPolicy) {
    case "Retain":
      return none;
    case "Delete":
      if (provisioner !== undefined && !provisioner.startsWith(builtInPrefix)) return none;
      return fail("VolumeFailedDelete", noDeleter(volume.metadata.name));
    case "Recycle":
      return fail("VolumeFailedRecycle", "No recycler plugin found for the volume!");
    default:
      return fail("VolumeUnknownReclaimPolicy", "Volume has unrecognized PersistentVolumeReclaimPolicy");
  }
}

/** Provisioners that were part of Kubernetes once; none of them is part of Orlop. */
const builtInPrefix = "kubernetes.io/";

const noDeleter = (name: string): string =>
  `error getting deleter volume plugin for volume "${name}": no deletable volume plugin matched`;

const fail = (reason: string, message: string): VolumePlan => ({ step: "fail", reason, message });

const phase = ({ status }: PersistentVolume, wanted: VolumePhase): VolumePlan =>
  status.phase === wanted ? none : { step: "phase", phase: wanted };
