import { type Pod } from "#api/core/pod.ts";
import { type AnyContainer, allContainers } from "#api/core/pod-containers.ts";
import { type Volume } from "#api/core/volume.ts";

/** Names of the objects in its namespace that a pod needs to run. */
export interface PodReferences {
  readonly secrets: ReadonlySet<string>;
  readonly configMaps: ReadonlySet<string>;
  readonly claims: ReadonlySet<string>;
  readonly resourceClaims: ReadonlySet<string>;
}

/** Worked out once for each version of a pod. */
export function referencesOf(pod: Pod): PodReferences {
  let known = memory.get(pod);
  if (!known) {
    known = findReferences(pod);
    memory.set(pod, known);
  }
  return known;
}
const memory = new WeakMap<Pod, PodReferences>();

interface Found {
  readonly secrets: Set<string>;
  readonly configMaps: Set<string>;
  readonly claims: Set<string>;
  readonly resourceClaims: Set<string>;
}

function findReferences(pod: Pod): PodReferences {
  const { spec } = pod;
  const found: Found = { secrets: new Set(), configMaps: new Set(), claims: new Set(), resourceClaims: new Set() };
  for (const { name } of spec.imagePullSecrets ?? []) add(found.secrets, name);
  for (const container of allContainers(spec)) addEnvironment(found, container);
  for (const volume of spec.volumes ?? []) {
    addVolume(found, volume);
    if (volume.ephemeral) add(found.claims, `${pod.metadata.name}-${volume.name}`);
  }
  addResourceClaims(found.resourceClaims, pod);
  return found;
}

function addEnvironment({ secrets, configMaps }: Found, container: AnyContainer): void {
  for (const { valueFrom } of container.env ?? []) {
    add(secrets, valueFrom?.secretKeyRef?.name);
    add(configMaps, valueFrom?.configMapKeyRef?.name);
  }
  for (const { secretRef, configMapRef } of container.envFrom ?? []) {
    add(secrets, secretRef?.name);
    add(configMaps, configMapRef?.name);
  }
}

function addVolume({ secrets, configMaps, claims }: Found, volume: Volume): void {
  add(claims, volume.persistentVolumeClaim?.claimName);
  add(configMaps, volume.configMap?.name);
  add(secrets, volume.secret?.secretName);
  for (const { secret, configMap } of volume.projected?.sources ?? []) {
    add(secrets, secret?.name);
    add(configMaps, configMap?.name);
  }
  add(secrets, volume.csi?.nodePublishSecretRef?.name);
  add(secrets, volume.azureFile?.secretName);
  const { cephfs, cinder, flexVolume, rbd, scaleIO, iscsi, storageos } = volume;
  for (const source of [cephfs, cinder, flexVolume, rbd, scaleIO, iscsi, storageos]) {
    add(secrets, source?.secretRef?.name);
  }
}

/** A claim that is made from a template has its name in the status. */
function addResourceClaims(claims: Set<string>, { spec, status }: Pod): void {
  for (const { name, resourceClaimName } of spec.resourceClaims ?? []) {
    const made = status?.resourceClaimStatuses?.find((one) => one.name === name)?.resourceClaimName;
    add(claims, resourceClaimName ?? made);
  }
  add(claims, status?.extendedResourceClaimStatus?.resourceClaimName);
}

function add(names: Set<string>, name: string | undefined): void {
  if (name) names.add(name);
}
