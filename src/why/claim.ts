import { noProvisioner, provisionerAnnotation, selectedNodeAnnotation } from "#api/core/persistent-volume/binding.ts";
import { isGrowing } from "#api/core/persistent-volume/growth.ts";
import { classOfClaim, mismatchOf } from "#api/core/persistent-volume/match-volume.ts";
import { type PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { type PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { isFinished } from "#api/core/pod/pod-state.ts";
import { claimProtectionFinalizer } from "#api/well-known.ts";
import { counted, type Explanation, listed } from "./explanation.ts";
import { type ClaimFacts, type SeenEvent } from "./facts.ts";
import { heldBy } from "./pod/ending.ts";
import { ago, msOf } from "./times.ts";

/** Why a claim has no volume, or does not go. */
export function explainClaim(facts: ClaimFacts): Explanation {
  const { claim, events, nowMs } = facts;
  const { metadata, spec, status } = claim;
  const title = `PersistentVolumeClaim ${metadata.name}`;
  if (metadata.deletionTimestamp) return ending(title, facts);
  const evidence = [
    `asks for ${spec.resources.requests?.storage ?? "no size"}, ${spec.accessModes?.join(", ") ?? "no access mode"}`,
    ...facts.candidates.map((volume) => `volume ${volume.metadata.name}: ${unfitness(volume, claim)}`),
    ...events.slice(-maxEvents).map((event) => describe(event, nowMs)),
  ];
  if (status.phase === "Bound") return { hop: undefined, evidence, ...bound(title, facts) };
  if (status.phase === "Lost") {
    const headline = `${title} has lost its volume ${spec.volumeName ?? ""}: the data is gone, or another claim has it.`;
    const advice = [
      "Restore the PersistentVolume with the same name and claimRef, or delete the claim and start again.",
    ];
    return { hop: undefined, state: "Lost", headline, evidence, advice };
  }
  return { hop: undefined, evidence, state: "Pending", ...pending(title, facts) };
}

function ending(title: string, { claim, pods, nowMs }: ClaimFacts): Explanation {
  const asked = `deleted ${ago(msOf(claim.metadata.deletionTimestamp), nowMs)}`;
  const users = pods.filter((pod) => !isFinished(pod)).map(({ metadata }) => metadata.name);
  const isProtected = claim.metadata.finalizers?.includes(claimProtectionFinalizer);
  if (!isProtected || users.length === 0) return heldBy(title, claim, asked);
  return {
    hop: undefined,
    state: "Terminating",
    headline: `${title} is being deleted, and stays until no pod uses it: ${listed(users.slice(0, maxUsers))}.`,
    evidence: [asked, `used by ${counted(users.length, "pod")} that ${users.length === 1 ? "has" : "have"} not ended`],
    advice: [
      "Delete the pods that use it, or scale down what creates them. The deletion cannot be taken back.",
      "Do not remove the finalizer by hand: the pods would lose their data while they run.",
    ],
  };
}
const maxUsers = 3;

function unfitness(volume: PersistentVolume, claim: PersistentVolumeClaim): string {
  const { claimRef, capacity } = volume.spec;
  if (claimRef) return `belongs to claim ${claimRef.namespace ?? ""}/${claimRef.name ?? ""}`;
  const why = mismatchOf(volume, claim);
  return why ? `${why} (${capacity?.storage ?? "no size"}, ${volume.spec.accessModes?.join(", ")})` : "fits";
}

const maxEvents = 3;
const describe = ({ reason, message, lastMs }: SeenEvent, nowMs: number): string =>
  `${reason} ${ago(lastMs, nowMs)}: ${message}`;

type Answer = Pick<Explanation, "headline" | "advice">;

function bound(title: string, { claim, volume }: ClaimFacts): Answer & Pick<Explanation, "state"> {
  const has = claim.status.capacity?.storage ?? "";
  if (isGrowing(claim)) {
    const headline = `${title} has ${has} and waits until its volume has grown to ${claim.spec.resources.requests?.storage}.`;
    const advice = ["The controller of the volume has to do that: look at the log of its driver."];
    return { state: "Growing", headline, advice };
  }
  const where = volume?.spec.local ? ` The data is in ${volume.spec.local.path} on its node.` : "";
  const headline = `${title} is bound to volume ${claim.spec.volumeName ?? ""} (${has}): nothing is stuck.${where}`;
  return { state: "Bound", headline, advice: [] };
}

function pending(title: string, facts: ClaimFacts): Answer {
  const { claim, storageClass } = facts;
  if (claim.spec.volumeName) return named(title, claim.spec.volumeName, facts);
  const className = classOfClaim(claim);
  if (className === "") {
    return {
      headline: `${title} has no volume: it has no StorageClass, and no free PersistentVolume fits.`,
      advice: [
        "Name a class in spec.storageClassName of a new claim, or make a class the default: `kubectl get storageclass`.",
        "Or create a PersistentVolume without a class that is large enough and has its access modes.",
      ],
    };
  }
  if (!storageClass && facts.candidates.length > 0) {
    return {
      headline: `${title} has no volume: no free PersistentVolume of class ${className} fits, and no StorageClass of that name makes one.`,
      advice: ["Create a PersistentVolume of that class that is large enough and has its access modes."],
    };
  }
  if (!storageClass) {
    return {
      headline: `${title} has no volume: StorageClass ${className} does not exist, or you may not read it.`,
      advice: [
        "Create the class, or a claim with another one: `kubectl get storageclass`.",
        "Or create a PersistentVolume of that class: it needs no StorageClass.",
      ],
    };
  }
  const isDelayed = storageClass.volumeBindingMode === "WaitForFirstConsumer";
  if (isDelayed && !claim.metadata.annotations?.[selectedNodeAnnotation]) return waitsForPod(title, facts);
  return waitsForProvisioner(title, facts);
}

function named(title: string, name: string, { claim, volume }: ClaimFacts): Answer {
  if (!volume) {
    const advice = [`Create the PersistentVolume ${name}, or the claim again without spec.volumeName.`];
    return { headline: `${title} waits for volume ${name}, which does not exist.`, advice };
  }
  const { claimRef } = volume.spec;
  const owner = claimRef && `${claimRef.namespace ?? ""}/${claimRef.name ?? ""}`;
  if (owner && claimRef.uid !== claim.metadata.uid) {
    const advice = [`Use another volume. A volume that was used before is free once its spec.claimRef is removed.`];
    return { headline: `${title} waits for volume ${name}, which belongs to claim ${owner}.`, advice };
  }
  const why = mismatchOf(volume, claim);
  if (!why) return { headline: `${title} is about to be bound to volume ${name}.`, advice: ["Ask again in a moment."] };
  return {
    headline: `${title} cannot have volume ${name}: ${why}.`,
    advice: ["Compare size, class, access modes and volume mode of both: `kubectl describe pv,pvc`."],
  };
}

function waitsForPod(title: string, facts: ClaimFacts): Answer {
  const { storageClass, pods } = facts;
  // After a failure, the provisioner gives the claim back to the scheduler.
  const failed = failureOf(title, facts);
  if (failed) return failed;
  const waiting = pods.filter(({ spec }) => !spec.nodeName).map(({ metadata }) => metadata.name);
  if (waiting.length === 0) {
    return {
      headline: `${title} waits for the first pod that uses it, because its class ${storageClass?.metadata.name} has volumeBindingMode WaitForFirstConsumer: nothing is stuck.`,
      advice: ["Create a pod that uses it. A pod with spec.nodeName does not count: the scheduler must place it."],
    };
  }
  const [first = ""] = waiting;
  return {
    headline: `${title} waits until ${counted(waiting.length, "pod")} that ${waiting.length === 1 ? "uses" : "use"} it ${waiting.length === 1 ? "has" : "have"} a node: ${listed(waiting.slice(0, 3))}.`,
    advice: [`See why the pod has none: \`orlop why pod/${first}\`.`],
  };
}

function waitsForProvisioner(title: string, facts: ClaimFacts): Answer {
  const { claim, storageClass } = facts;
  const provisioner = claim.metadata.annotations?.[provisionerAnnotation] ?? storageClass?.provisioner ?? "";
  if (provisioner === noProvisioner) {
    return {
      headline: `${title} has no volume: no free PersistentVolume of its class fits, and the class makes none.`,
      advice: ["Create a PersistentVolume of that class that is large enough and has its access modes."],
    };
  }
  const failed = failureOf(title, facts);
  if (failed) return failed;
  return {
    headline: `${title} waits for a volume from the provisioner ${provisioner}.`,
    advice: [`Check that the provisioner ${provisioner} is running, and look at its log.`],
  };
}

function failureOf(title: string, { events }: ClaimFacts): Answer | undefined {
  const failure = events.findLast(({ reason }) => reason === "ProvisioningFailed");
  if (!failure) return undefined;
  const advice = ["Create the claim again with what the provisioner can do, or with another class."];
  return { headline: `${title} has no volume: ${failure.message}.`, advice };
}
