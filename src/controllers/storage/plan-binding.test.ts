import assert from "node:assert/strict";
import { test } from "node:test";
import { findVolume } from "#api/core/persistent-volume/match-volume.ts";
import { PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { type InputOf } from "#api/resource.ts";
import { StorageClass } from "#api/storage/storage-class.ts";
import { build } from "#testing/build.ts";
import { type ClaimFacts, type ClaimPlan, planClaim } from "./plan-claim.ts";
import { planVolume } from "./plan-volume.ts";

type ClaimParts = Partial<InputOf<PersistentVolumeClaim>["spec"]> & { annotations?: Record<string, string> };
type VolumeParts = Partial<InputOf<PersistentVolume>["spec"]> & {
  name?: string;
  phase?: string;
  annotations?: Record<string, string>;
  labels?: Record<string, string>;
};

const uid = "claim-1";
const accessModes = ["ReadWriteOnce"];
const claim = ({ annotations = {}, ...spec }: ClaimParts = {}): PersistentVolumeClaim =>
  build(PersistentVolumeClaim, {
    metadata: { name: "data", namespace: "shop", uid, annotations },
    spec: { accessModes, resources: { requests: { storage: "2Gi" } }, storageClassName: "", ...spec },
  });
const volume = ({ name = "disk", phase = "Available", annotations = {}, labels = {}, ...spec }: VolumeParts = {}) =>
  build(PersistentVolume, {
    metadata: { name, annotations, labels },
    spec: { accessModes, capacity: { storage: "2Gi" }, storageClassName: "", volumeMode: "Filesystem", ...spec },
    status: { phase },
  });
const ours = { namespace: "shop", name: "data", uid };
const theirs = { ...ours, uid: "claim-2" };

const facts = (volumes: readonly PersistentVolume[], more: Partial<ClaimFacts> = {}): ClaimFacts => ({
  volume: (name) => volumes.find(({ metadata }) => metadata.name === name),
  match: (claim, which) =>
    findVolume(claim, {
      prebound: volumes.filter(({ spec }) => spec.claimRef),
      available: which === "any" ? volumes.filter(({ spec }) => !spec.claimRef) : [],
    }),
  storageClass: (name) =>
    name === "slow" || name === "late"
      ? build(StorageClass, {
          metadata: { name },
          provisioner: "p",
          volumeBindingMode: name === "late" ? "WaitForFirstConsumer" : "Immediate",
        })
      : undefined,
  defaultClass: () => undefined,
  waitingPods: () => [],
  ...more,
});

const done = { "pv.kubernetes.io/bind-completed": "yes" };
const late = { storageClassName: "late" };
const selected = { "volume.kubernetes.io/selected-node": "n" };

const told = (plan: ClaimPlan): string => {
  if (plan.step === "bind") return `bind ${plan.volume.metadata.name}`;
  if (plan.step === "provision") return `provision by ${plan.provisioner}`;
  if (plan.step === "classify") return `classify as ${plan.className}`;
  return `${plan.phase} ${plan.event?.reason ?? ""}`.trim();
};

const claims: readonly [name: string, claim: PersistentVolumeClaim, facts: ClaimFacts, plan: string][] = [
  ["takes a free volume", claim(), facts([volume()]), "bind disk"],
  ["takes the smallest", claim(), facts([volume({ name: "b", capacity: { storage: "9Gi" } }), volume()]), "bind disk"],
  ["takes no smaller one", claim(), facts([volume({ capacity: { storage: "1Gi" } })]), "Pending FailedBinding"],
  ["takes none of another class", claim(), facts([volume({ storageClassName: "x" })]), "Pending FailedBinding"],
  [
    "takes none without its mode",
    claim({ accessModes: ["ReadWriteMany"] }),
    facts([volume()]),
    "Pending FailedBinding",
  ],
  ["takes no device", claim(), facts([volume({ volumeMode: "Block" })]), "Pending FailedBinding"],
  ["takes none that is in use", claim(), facts([volume({ phase: "Released" })]), "Pending FailedBinding"],
  ["heeds its selector", claim({ selector: { matchLabels: { a: "b" } } }), facts([volume()]), "Pending FailedBinding"],
  [
    "prefers the volume that names it",
    claim(),
    facts([volume(), volume({ name: "own", capacity: { storage: "9Gi" }, claimRef: ours })]),
    "bind own",
  ],
  ["leaves the volume of an earlier claim", claim(), facts([volume({ claimRef: theirs })]), "Pending FailedBinding"],
  ["takes the volume that it names", claim({ volumeName: "disk" }), facts([volume()]), "bind disk"],
  ["waits for the volume that it names", claim({ volumeName: "disk" }), facts([]), "Pending"],
  [
    "reports a named volume that does not fit",
    claim({ volumeName: "disk" }),
    facts([volume({ capacity: { storage: "1Gi" } })]),
    "Pending VolumeMismatch",
  ],
  [
    "reports a named volume that another has",
    claim({ volumeName: "disk" }),
    facts([volume({ claimRef: theirs })]),
    "Pending FailedBinding",
  ],
  ["asks the provisioner", claim({ storageClassName: "slow" }), facts([]), "provision by p"],
  ["reports a class that is missing", claim({ storageClassName: "x" }), facts([]), "Pending ProvisioningFailed"],
  ["waits for a pod", claim(late), facts([volume(late)]), "Pending WaitForFirstConsumer"],
  ["waits for a node", claim(late), facts([], { waitingPods: () => ["web"] }), "Pending WaitForPodScheduled"],
  ["asks the provisioner once a node is known", claim({ ...late, annotations: selected }), facts([]), "provision by p"],
  ["takes the volume that was made for it", claim(late), facts([volume({ ...late, claimRef: ours })]), "bind disk"],
  ["completes its binding", claim({ volumeName: "disk", annotations: done }), facts([volume()]), "bind disk"],
  ["is lost without its volume", claim({ volumeName: "disk", annotations: done }), facts([]), "Lost ClaimLost"],
  ["is lost without a name", claim({ annotations: done }), facts([]), "Lost ClaimLost"],
  [
    "is lost if another has its volume",
    claim({ volumeName: "disk", annotations: done }),
    facts([volume({ claimRef: theirs })]),
    "Lost ClaimMisbound",
  ],
];
for (const [name, subject, world, plan] of claims) {
  test(`a claim ${name}`, () => assert.equal(told(planClaim(subject, world)), plan));
}

test("a claim without a class gets the default one, but not one that asks for none", () => {
  const world = facts([], { defaultClass: () => "fast" });
  const { storageClassName: _, ...spec } = claim().spec;

  assert.equal(told(planClaim({ ...claim(), spec }, world)), "classify as fast");
  assert.equal(told(planClaim(claim(), world)), "Pending FailedBinding");
});

const byUs = { "pv.kubernetes.io/bound-by-controller": "yes" };
const made = { "pv.kubernetes.io/provisioned-by": "example.com/p" };
const gone = { claimRef: ours, phase: "Released" };

const volumes: readonly [
  name: string,
  volume: PersistentVolume,
  claim: PersistentVolumeClaim | undefined,
  plan: object,
][] = [
  ["becomes available", volume({ phase: "Pending" }), undefined, { step: "phase", phase: "Available" }],
  [
    "that only names a claim is available",
    volume({ phase: "Pending", claimRef: { namespace: "shop", name: "data" } }),
    claim(),
    { step: "phase", phase: "Available" },
  ],
  ["waits for its claim to name it", volume({ claimRef: ours }), claim(), { step: "none" }],
  ["becomes bound", volume({ claimRef: ours }), claim({ volumeName: "disk" }), { step: "phase", phase: "Bound" }],
  [
    "is released with its claim",
    volume({ claimRef: ours, phase: "Bound" }),
    undefined,
    { step: "phase", phase: "Released" },
  ],
  [
    "is released when its claim is replaced",
    volume({ claimRef: theirs, phase: "Bound" }),
    claim(),
    { step: "phase", phase: "Released" },
  ],
  ["is retained", volume({ ...gone, persistentVolumeReclaimPolicy: "Retain" }), undefined, { step: "none" }],
  [
    "is left to its provisioner",
    volume({ ...gone, annotations: made, persistentVolumeReclaimPolicy: "Delete" }),
    undefined,
    { step: "none" },
  ],
  [
    "that nobody can delete fails",
    volume({ ...gone, persistentVolumeReclaimPolicy: "Delete" }),
    undefined,
    {
      step: "fail",
      reason: "VolumeFailedDelete",
      message: 'error getting deleter volume plugin for volume "disk": no deletable volume plugin matched',
    },
  ],
  [
    "forgets a claim that has another volume",
    volume({ claimRef: ours, annotations: byUs }),
    claim({ volumeName: "other" }),
    { step: "unbind", forgets: "claim" },
  ],
  [
    "stays kept for the claim that its maker named",
    volume({ claimRef: ours }),
    claim({ volumeName: "other" }),
    { step: "unbind", forgets: "uid" },
  ],
  [
    "that was made in vain is released",
    volume({ claimRef: ours, annotations: made, persistentVolumeReclaimPolicy: "Delete" }),
    claim({ volumeName: "other" }),
    { step: "phase", phase: "Released" },
  ],
];
for (const [name, subject, owner, plan] of volumes) {
  test(`a volume ${name}`, () => assert.deepEqual(planVolume(subject, owner), plan));
}
