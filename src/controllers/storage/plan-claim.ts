import {
  bindCompletedAnnotation,
  isMeantFor,
  noProvisioner,
  selectedNodeAnnotation,
} from "#api/core/persistent-volume/binding.ts";
import { classOfClaim, mismatchOf } from "#api/core/persistent-volume/match-volume.ts";
import { type PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { type PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { classAnnotation } from "#api/core/persistent-volume/volume-columns.ts";
import { type StorageClass } from "#api/storage/storage-class.ts";

/** What the plan for a claim depends on. */
export interface ClaimFacts {
  volume(name: string): PersistentVolume | undefined;
  /** The volume that is meant for the claim, or else the best one that is free. */
  match(claim: PersistentVolumeClaim, which: "any" | "prebound"): PersistentVolume | undefined;
  storageClass(name: string): StorageClass | undefined;
  /** The name of the class of claims that name none. */
  defaultClass(): string | undefined;
  /** The names of the pods without a node that use the claim. */
  waitingPods(claim: PersistentVolumeClaim): readonly string[];
}

export interface ClaimEvent {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

/** The next step for a claim. */
export type ClaimPlan =
  | { readonly step: "bind"; readonly volume: PersistentVolume }
  /** Asks the provisioner of its class for a volume. */
  | { readonly step: "provision"; readonly provisioner: string }
  /** Gives it the default class. */
  | { readonly step: "classify"; readonly className: string }
  /** It stays in a phase until something else changes. */
  | { readonly step: "wait"; readonly phase: "Pending" | "Lost"; readonly event?: ClaimEvent };

export function planClaim(claim: PersistentVolumeClaim, facts: ClaimFacts): ClaimPlan {
  if (claim.metadata.annotations?.[bindCompletedAnnotation] !== undefined) return planBound(claim, facts);
  // Nothing should be given to a claim that is about to go.
  if (claim.metadata.deletionTimestamp) return { step: "wait", phase: "Pending" };
  return claim.spec.volumeName ? planNamed(claim, claim.spec.volumeName, facts) : planUnbound(claim, facts);
}

/** The binding was complete once: without the same volume the data is lost. */
function planBound(claim: PersistentVolumeClaim, facts: ClaimFacts): ClaimPlan {
  const name = claim.spec.volumeName;
  if (!name) {
    return lost("ClaimLost", "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!");
  }
  const volume = facts.volume(name);
  if (!volume) return lost("ClaimLost", "Bound claim has lost its PersistentVolume. Data on the volume is lost!");
  if (!volume.spec.claimRef || volume.spec.claimRef.uid === claim.metadata.uid) return { step: "bind", volume };
  return lost("ClaimMisbound", "Two claims are bound to the same volume, this one is bound incorrectly");
}

/** The user asked for one particular volume. */
function planNamed(claim: PersistentVolumeClaim, name: string, facts: ClaimFacts): ClaimPlan {
  const volume = facts.volume(name);
  if (!volume) return { step: "wait", phase: "Pending" };
  if (!volume.spec.claimRef) {
    const mismatch = mismatchOf(volume, claim);
    if (mismatch === undefined) return { step: "bind", volume };
    return pending("Warning", "VolumeMismatch", `Cannot bind to requested volume "${name}": ${mismatch}`);
  }
  if (isMeantFor(volume, claim)) return { step: "bind", volume };
  return pending("Warning", "FailedBinding", `volume "${name}" already bound to a different claim.`);
}

function planUnbound(claim: PersistentVolumeClaim, facts: ClaimFacts): ClaimPlan {
  const className = classOfClaim(claim);
  const storageClass = className === "" ? undefined : facts.storageClass(className);
  const isDelayed = storageClass?.volumeBindingMode === "WaitForFirstConsumer";
  // The scheduler chooses volumes for claims that wait for a pod.
  const volume = facts.match(claim, isDelayed ? "prebound" : "any");
  if (volume) return { step: "bind", volume };
  const annotations = claim.metadata.annotations ?? {};
  const canBeClassified = claim.spec.storageClassName === undefined && annotations[classAnnotation] === undefined;
  const defaultClass = canBeClassified ? facts.defaultClass() : undefined;
  if (defaultClass !== undefined) return { step: "classify", className: defaultClass };
  if (isDelayed && annotations[selectedNodeAnnotation] === undefined) return waitForPod(facts.waitingPods(claim));
  if (className !== "") return planProvision(className, storageClass);
  const message = "no persistent volumes available for this claim and no storage class is set";
  return pending("Normal", "FailedBinding", message);
}

function planProvision(className: string, storageClass: StorageClass | undefined): ClaimPlan {
  if (!storageClass) {
    return pending("Warning", "ProvisioningFailed", `storageclass.storage.k8s.io "${className}" not found`);
  }
  const { provisioner } = storageClass;
  if (provisioner === noProvisioner) return { step: "wait", phase: "Pending" };
  return { step: "provision", provisioner };
}

function waitForPod(names: readonly string[]): ClaimPlan {
  const [first] = names;
  if (first === undefined) {
    return pending("Normal", "WaitForFirstConsumer", "waiting for first consumer to be created before binding");
  }
  const pods = names.length === 1 ? `pod ${first}` : `pods ${names.join(",")}`;
  return pending("Normal", "WaitForPodScheduled", `waiting for ${pods} to be scheduled`);
}

const pending = (type: ClaimEvent["type"], reason: string, message: string): ClaimPlan => ({
  step: "wait",
  phase: "Pending",
  event: { type, reason, message },
});
const lost = (reason: string, message: string): ClaimPlan => ({
  step: "wait",
  phase: "Lost",
  event: { type: "Warning", reason, message },
});
