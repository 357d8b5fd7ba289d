import { type Volume } from "#api/core/volume/volume.ts";
import { firstByName } from "#lib/data/first-by-name.ts";
import { type Pod } from "../pod.ts";
import { type AnyContainer, allContainers } from "./pod-containers.ts";
import { type PodObject } from "./pod-fields.ts";

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

/** The claims that a pod uses: those that it names, and those that are made for its ephemeral volumes. */
export const claimNamesOf = ({ metadata, spec }: Pick<PodObject, "metadata" | "spec">): string[] =>
  (spec.volumes ?? []).flatMap(({ name, persistentVolumeClaim, ephemeral }) =>
    persistentVolumeClaim ? persistentVolumeClaim.claimName : ephemeral ? `${metadata.name}-${name}` : [],
  );

type Found = { readonly [K in keyof PodReferences]: Set<string> };

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
function addResourceClaims(
  claims: Set<string>,
  { spec, status }: Pick<PodObject, "metadata" | "spec" | "status">,
): void {
  const statuses = firstByName(status?.resourceClaimStatuses);
  for (const { name, resourceClaimName } of spec.resourceClaims ?? []) {
    add(claims, resourceClaimName ?? statuses.get(name)?.resourceClaimName);
  }
  add(claims, status?.extendedResourceClaimStatus?.resourceClaimName);
}

const none: readonly string[] = [];

/** The claims for devices that a pod uses, as `namespace/name`, as far as they have names yet. */
export function resourceClaimKeysOf(pod: Pick<PodObject, "metadata" | "spec" | "status">): readonly string[] {
  const { spec, status, metadata } = pod;
  if (!spec.resourceClaims?.length && !status?.extendedResourceClaimStatus) return none;
  const names = new Set<string>();
  addResourceClaims(names, pod);
  return Array.from(names, (name) => `${metadata.namespace}/${name}`);
}

/** The templates that claims of a pod are made from. */
export function resourceClaimTemplateKeysOf({
  spec,
  metadata,
}: Pick<PodObject, "metadata" | "spec" | "status">): readonly string[] {
  if (!spec.resourceClaims?.length) return none;
  const names = new Set(spec.resourceClaims.flatMap(({ resourceClaimTemplateName: name }) => name ?? []));
  return Array.from(names, (name) => `${metadata.namespace}/${name}`);
}

function add(names: Set<string>, name: string | undefined): void {
  if (name) names.add(name);
}

/** What a pod needs from the API, for messages. A static pod must not need anything. */
export function apiReferenceOf(pod: Pod): string | undefined {
  if (pod.spec.serviceAccountName) return "serviceaccounts";
  const { secrets, configMaps } = referencesOf(pod);
  if (secrets.size > 0) return "secrets";
  if (configMaps.size > 0) return "configmaps";
  if (pod.spec.resourceClaims?.length) return "resourceclaims";
  for (const volume of pod.spec.volumes ?? []) {
    const reference = volumeReference(volume);
    if (reference) return reference;
  }
  return undefined;
}

function volumeReference({ csi, glusterfs, persistentVolumeClaim, ephemeral, projected }: Volume): string | undefined {
  if (csi) return "csidrivers (via CSI volumes)";
  if (glusterfs) return "endpoints (via glusterFS volumes)";
  if (persistentVolumeClaim) return "persistentvolumeclaims";
  if (ephemeral) return "persistentvolumeclaims (via ephemeral volumes)";
  const sources = projected?.sources ?? [];
  if (sources.some((source) => source.serviceAccountToken)) return "serviceaccounts (via projected volumes)";
  if (sources.some((source) => source.clusterTrustBundle)) return "clustertrustbundles";
  return sources.some((source) => source.podCertificate) ? "podcertificates" : undefined;
}
