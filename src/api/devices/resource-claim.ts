import { ageColumn, column } from "#api/meta/columns.ts";
import { keepMetadataOfStatus } from "#api/meta/keep-metadata.ts";
import { type OwnerReference } from "#api/meta/object-meta.ts";
import { controllerOf } from "#api/meta/owner.ts";
import { embedded, immutable, present } from "#schema/fields.ts";
import { type ApiObject, defineResource, type NamespacedObject, type ObjectOf } from "../resource.ts";
import { ResourceClaimSpec } from "./claim-spec.ts";
import { allocatedDevices, deviceKey, ResourceClaimStatus } from "./claim-status.ts";
import { requestNames, validateClaimSpec } from "./validate-claim-spec.ts";
import { validateClaimStatus } from "./validate-claim-status.ts";

/** Keeps a claim until its devices are free. */
export const resourceClaimFinalizer = "resource.kubernetes.io/delete-protection";

/** The name in the pod of a claim that was created for it. */
export const podClaimAnnotation = "resource.kubernetes.io/pod-claim-name";

/** Marks the claim that the scheduler creates for the extended resources of a pod. */
export const extendedClaimAnnotation = "resource.kubernetes.io/extended-resource-claim";

/** The pod for whose extended resources the claim was made, as far as the claim says so. */
export function extendedPodOf(claim: ApiObject): OwnerReference | undefined {
  if (claim.metadata.annotations?.[extendedClaimAnnotation] !== "true") return undefined;
  const owner = controllerOf(claim);
  return owner?.kind === "Pod" && owner.apiVersion === "v1" ? owner : undefined;
}

/** The key of that pod in the index `extendedPod`. Has the namespace, because claims elsewhere can name any uid. */
export function extendedPodKeys(claim: ApiObject): readonly string[] {
  const owner = extendedPodOf(claim);
  return owner ? [podUidKey({ namespace: claim.metadata.namespace, uid: owner.uid })] : [];
}
export const podUidKey = ({ namespace, uid }: { namespace?: string | undefined; uid: string }): string =>
  `${namespace ?? ""}/${uid}`;

const fields = {
  spec: immutable(present(2, ResourceClaimSpec, "What the claim requests, and its settings. Cannot be changed.")),
  status: embedded(3, ResourceClaimStatus),
};
export interface ResourceClaim extends NamespacedObject<typeof fields> {}

export const ResourceClaim = defineResource("resource.k8s.io/v1.ResourceClaim", fields, {
  doc: "A request for devices that pods can use, and what was allocated for it.",
  returnsDeleted: true,
  withStatus: () => ({}),
  indexes: { extendedPod: extendedPodKeys },
  statusResets: { spec: true, metadata: true },
  columns: [column("State", "Whether the claim is pending, allocated, reserved or deleted.", stateOf), ageColumn],

  prepareForStatusUpdate(claim, old) {
    keepMetadataOfStatus(claim, old);
    dropDeallocated(claim, old.status);
  },
  // An update cannot change the spec, so it is not checked again.
  validateCreate: (claim) => validateClaimSpec(claim.field("spec")),
  validateStatusUpdate(claim, { status: old }) {
    const { spec, metadata } = claim.value;
    const isDeleted = metadata.deletionTimestamp !== undefined;
    validateClaimStatus(claim.field("status"), { old, requests: requestNames(spec.devices), isDeleted });
  },
});

function stateOf({ metadata, status }: ObjectOf<typeof fields>): string {
  const states: string[] = [];
  if (metadata.deletionTimestamp) states.push("deleted");
  if (status.allocation) states.push("allocated");
  else if (!metadata.deletionTimestamp) states.push("pending");
  if (status.allocation && status.reservedFor?.length) states.push("reserved");
  return states.join(",");
}

/** Devices that are no longer allocated have no status, so that clients need not remove it. */
function dropDeallocated(claim: ObjectOf<typeof fields>, old: ResourceClaimStatus): void {
  const { devices = [], ...status } = claim.status;
  const gone = allocatedDevices(old).difference(allocatedDevices(status));
  const left = devices.filter((device) => !gone.has(deviceKey(device)));
  // A new object, because a patch may share this one with the stored claim.
  if (left.length < devices.length) claim.status = left.length > 0 ? { ...status, devices: left } : status;
}
