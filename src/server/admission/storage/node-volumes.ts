import {
  provisionedByAnnotation,
  provisionerAnnotation,
  selectedNodeAnnotation,
} from "#api/core/persistent-volume/binding.ts";
import { classOfClaim } from "#api/core/persistent-volume/match-volume.ts";
import { PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { type ApiObject } from "#api/resource.ts";
import { StorageClass } from "#api/storage/storage-class.ts";
import { hostnameLabel, localProvisioner, nodeServicesGroup } from "#api/well-known.ts";
import { equal } from "#lib/data/equal.ts";
import { type Informer, type Informers } from "#runtime/informer.ts";
import { isAbout, objectOf, oldObjectOf } from "../object-of.ts";
import { type AdmissionPlugin, type AdmissionRequest } from "../plugin.ts";
import { refusal } from "../refuse.ts";

/**
 * Limits the provisioner of a node that joined to volumes of that node, for claims that the scheduler gave to it. Without it,
 * a node that was taken over could make volumes of other nodes' directories.
 */
export function nodeVolumes({ informers }: { readonly informers: Informers }): AdmissionPlugin {
  const claims = informers.of(PersistentVolumeClaim);
  const volumes = informers.of(PersistentVolume);
  const classes = informers.of(StorageClass);
  return {
    name: "NodeVolumes",
    runs: "always",
    appliesTo: (request) =>
      request.operation !== "CONNECT" &&
      (isAbout(PersistentVolume, request) || isAbout(PersistentVolumeClaim, request)),
    validate(request) {
      if (!request.user.groups.includes(nodeServicesGroup)) return;
      const node = request.user.name.slice(nodeServicesGroup.length + 1);
      const fault = faultOf({ request, node, claims, volumes, classes });
      if (fault !== undefined) throw refusal(request, `the volumes of node "${node}": ${fault}`);
    },
  };
}

interface Checked {
  readonly request: AdmissionRequest;
  readonly node: string;
  readonly claims: Informer<PersistentVolumeClaim>;
  readonly volumes: Informer<PersistentVolume>;
  readonly classes: Informer<StorageClass>;
}

function faultOf(checked: Checked): string | undefined {
  const { request, node } = checked;
  const { operation, subresource } = request;
  const [volume, oldVolume] = [objectOf(PersistentVolume, request), oldObjectOf(PersistentVolume, request)];
  if (isAbout(PersistentVolume, request)) {
    if (subresource !== "") return "only the volume itself may be written";
    if (operation === "CREATE") return volume && newVolumeFault(checked, volume);
    if (!oldVolume || !isOf(node, oldVolume)) return "it is not a volume of this node";
    return operation === "DELETE" ? deletionFault(oldVolume) : volume && changeFault(checked, oldVolume, volume);
  }
  const [claim, old] = [objectOf(PersistentVolumeClaim, request), oldObjectOf(PersistentVolumeClaim, request)];
  if (operation !== "UPDATE" || !claim || !old) return "claims may only be changed";
  return subresource === "status" ? growthFault(checked, old, claim) : releaseFault(node, old, claim);
}

/** Whether only this node reaches the volume. Names of nodes are unique; the label is what the node says of itself. */
function isOf(node: string, { metadata, spec }: PersistentVolume): boolean {
  const onNode = { matchExpressions: [{ key: hostnameLabel, operator: "In", values: [node] }] };
  return (
    metadata.annotations?.[provisionedByAnnotation] === localProvisioner &&
    spec.local !== undefined &&
    equal(spec.nodeAffinity, { required: { nodeSelectorTerms: [onNode] } })
  );
}

const allowedFields = new Set([
  ...["accessModes", "capacity", "claimRef", "local", "nodeAffinity", "persistentVolumeReclaimPolicy"],
  ...["storageClassName", "volumeMode"],
]);

function newVolumeFault({ node, claims, classes }: Checked, volume: PersistentVolume): string | undefined {
  if (!isOf(node, volume)) return "it is not a volume of this node";
  const { claimRef, local, storageClassName, persistentVolumeReclaimPolicy, capacity } = volume.spec;
  const claim = claims.get({ namespace: claimRef?.namespace ?? "", name: claimRef?.name ?? "" });
  if (!claim || claim.metadata.uid !== claimRef?.uid) return "its claim does not exist";
  const { uid, annotations = {} } = claim.metadata;
  if (annotations[selectedNodeAnnotation] !== node) return "its claim was not given to this node";
  const storageClass = classes.get({ name: classOfClaim(claim) });
  if (storageClass?.provisioner !== localProvisioner || storageClassName !== storageClass.metadata.name)
    return `its class is not one of ${localProvisioner}`;
  const name = `pvc-${uid}`;
  if (volume.metadata.name !== name || !local?.path.endsWith(`/${name}`)) return `its name must be ${name}`;
  if (claim.spec.volumeName && claim.spec.volumeName !== name) return "its claim has a volume";
  if (persistentVolumeReclaimPolicy !== storageClass.reclaimPolicy)
    return "its reclaim policy is not that of its class";
  if (capacity?.storage !== claim.spec.resources.requests?.storage) return "its size is not what its claim asks for";
  if (volume.metadata.ownerReferences?.length) return "it may not have owners";
  const further = Object.entries(volume.spec).find(
    ([field, value]) => value !== undefined && !allowedFields.has(field),
  );
  return further && `it may not have ${further[0]}`;
}

/** The data goes first, so nobody may be using it. */
const deletionFault = ({ metadata, status }: PersistentVolume): string | undefined =>
  status.phase === "Bound" && !metadata.deletionTimestamp ? "it is in use" : undefined;

/** It may grow as its claim asks, and lose finalizers. */
function changeFault({ claims }: Checked, old: PersistentVolume, volume: PersistentVolume): string | undefined {
  const { capacity } = volume.spec;
  const { namespace = "", name = "", uid } = old.spec.claimRef ?? {};
  const claim = claims.get({ namespace, name });
  const wanted = claim?.metadata.uid === uid ? claim?.spec.resources.requests?.storage : undefined;
  if (!equal(capacity, old.spec.capacity) && capacity?.storage !== wanted)
    return "its claim does not ask for that size";
  const known = old.metadata.finalizers ?? [];
  if (volume.metadata.finalizers?.some((one) => !known.includes(one))) return "it may not get finalizers";
  const isSame =
    equal({ ...volume.spec, capacity: undefined }, { ...old.spec, capacity: undefined }) &&
    equal(namesOf(volume), namesOf(old));
  return isSame ? undefined : "only its size and finalizers may change";
}

const namesOf = ({ metadata }: ApiObject) => ({
  labels: metadata.labels ?? {},
  annotations: metadata.annotations ?? {},
  ownerReferences: metadata.ownerReferences ?? [],
});

/** A node that cannot make the volume gives the claim back to the scheduler. */
function releaseFault(node: string, old: PersistentVolumeClaim, claim: PersistentVolumeClaim): string | undefined {
  const { [selectedNodeAnnotation]: chosen, ...annotations } = old.metadata.annotations ?? {};
  if (chosen !== node || annotations[provisionerAnnotation] !== localProvisioner)
    return "the claim was not given to this node";
  const isSame =
    equal(claim.spec, old.spec) &&
    equal(namesOf(claim), { ...namesOf(old), annotations }) &&
    equal(claim.metadata.finalizers ?? [], old.metadata.finalizers ?? []);
  return isSame ? undefined : "a claim may only be given back to the scheduler";
}

/** After its volume, a claim has the size that it asked for. */
function growthFault(
  { node, volumes }: Checked,
  old: PersistentVolumeClaim,
  claim: PersistentVolumeClaim,
): string | undefined {
  const volume = volumes.get({ name: old.spec.volumeName ?? "" });
  if (!volume || volume.spec.claimRef?.uid !== old.metadata.uid || !isOf(node, volume))
    return "the claim has no volume of this node";
  const { capacity, ...status } = claim.status;
  const { capacity: had, ...before } = old.status;
  const isSame =
    equal(status, before) &&
    equal(namesOf(claim), namesOf(old)) &&
    equal(claim.metadata.finalizers ?? [], old.metadata.finalizers ?? []);
  if (!isSame) return "only the size of a claim may change";
  const { storage = "" } = old.spec.resources.requests ?? {};
  return equal(capacity, { ...had, storage }) ? undefined : "the claim does not ask for that size";
}
