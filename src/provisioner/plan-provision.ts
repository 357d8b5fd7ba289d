import { type Node } from "#api/core/node.ts";
import { provisionedByAnnotation } from "#api/core/persistent-volume/binding.ts";
import { type PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { type InputOf } from "#api/resource.ts";
import { type StorageClass } from "#api/storage/storage-class.ts";
import { hostnameLabel, localProvisioner } from "#api/well-known.ts";
import { referenceTo } from "#client/events.ts";

/** Keeps a volume in the API until its data is removed; the name is that of upstream's provisioners. */
export const provisionerFinalizer = "external-provisioner.volume.kubernetes.io/finalizer";

export interface ProvisionFacts {
  readonly storageClass: StorageClass | undefined;
  readonly node: Node | undefined;
  /** The directory for a volume. */
  pathOf(volume: string): string;
}

/** The volume for a claim, or why it gets none. */
export type ProvisionPlan =
  | { readonly name: string; readonly volume: InputOf<PersistentVolume> }
  | { readonly refusal: string };

export function planProvision(claim: PersistentVolumeClaim, facts: ProvisionFacts): ProvisionPlan {
  const { storageClass, node, pathOf } = facts;
  if (!storageClass) return { refusal: "its StorageClass does not exist" };
  // Users write annotations too, and could ask us for a volume of a class that is not ours.
  if (storageClass.provisioner !== localProvisioner) return { refusal: `the class is not one of ${localProvisioner}` };
  const refusal = refusalOf(claim, storageClass);
  if (refusal !== undefined) return { refusal };
  if (!node) return { refusal: "the selected node does not exist" };
  const name = volumeNameFor(claim);
  if (name === undefined) return { refusal: "the UID of the claim is not a UUID" };
  const { accessModes = [], resources } = claim.spec;
  const hostname = node.metadata.labels?.[hostnameLabel] ?? node.metadata.name;
  const onNode = { matchExpressions: [{ key: hostnameLabel, operator: "In" as const, values: [hostname] }] };
  return {
    name,
    volume: {
      metadata: {
        name,
        annotations: { [provisionedByAnnotation]: localProvisioner },
        finalizers: [provisionerFinalizer],
      },
      spec: {
        capacity: { storage: resources.requests?.storage ?? "0" },
        accessModes,
        claimRef: referenceTo(PersistentVolumeClaim, claim),
        persistentVolumeReclaimPolicy: storageClass.reclaimPolicy,
        storageClassName: storageClass.metadata.name,
        volumeMode: "Filesystem",
        local: { path: pathOf(name) },
        nodeAffinity: { required: { nodeSelectorTerms: [onNode] } },
      },
    },
  };
}

const modes = ["ReadWriteOnce", "ReadWriteOncePod"];

/** What a directory of a node cannot be. */
function refusalOf({ spec }: PersistentVolumeClaim, storageClass: StorageClass): string | undefined {
  const { accessModes = [], volumeMode, selector, dataSource, dataSourceRef } = spec;
  if (storageClass.volumeBindingMode !== "WaitForFirstConsumer") {
    return "a volume of a node needs a class with volumeBindingMode WaitForFirstConsumer";
  }
  if (volumeMode === "Block") return "block volumes are not supported, only volumeMode Filesystem";
  const other = accessModes.find((mode) => !modes.includes(mode));
  if (other !== undefined) return `access mode ${other} is not supported, only ${modes.join(" and ")}`;
  if (selector) return "claim Selector is not supported";
  if (dataSource || dataSourceRef) return "a data source is not supported";
  if (storageClass.mountOptions?.length) return "the class has mountOptions, which a directory cannot have";
  return Object.keys(storageClass.parameters ?? {}).length > 0 ? "the class has parameters, but none exist" : undefined;
}

const uuid = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
const wholeUuid = new RegExp(`^${uuid}$`);
const ownName = new RegExp(`^pvc-${uuid}$`);

/** Made from the server's UID alone, because it becomes part of a path. */
export const volumeNameFor = ({ metadata: { uid } }: PersistentVolumeClaim): string | undefined =>
  wholeUuid.test(uid) ? `pvc-${uid}` : undefined;

/** Whether a volume is one of ours: whoever may create volumes could claim so of any path. */
export function isOwnVolume({ metadata, spec }: PersistentVolume, pathOf: (volume: string) => string): boolean {
  const { name, annotations } = metadata;
  if (annotations?.[provisionedByAnnotation] !== localProvisioner || !ownName.test(name)) return false;
  return spec.local?.path === pathOf(name);
}
