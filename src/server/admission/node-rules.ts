import { type Pod } from "#api/core/pod.ts";
import { type Volume } from "#api/core/volume.ts";
import { regionLabel, zoneLabel } from "#api/well-known.ts";
import { referencesOf } from "../authorize/pod-references.ts";

type Labels = Readonly<Record<string, string>>;

/** Labels in Kubernetes' own namespaces that a node may set on itself. */
const ownLabels = new Set([
  "kubernetes.io/hostname",
  "kubernetes.io/os",
  "kubernetes.io/arch",
  "beta.kubernetes.io/os",
  "beta.kubernetes.io/arch",
  "beta.kubernetes.io/instance-type",
  "node.kubernetes.io/instance-type",
  zoneLabel,
  regionLabel,
  "failure-domain.beta.kubernetes.io/zone",
  "failure-domain.beta.kubernetes.io/region",
]);

/** The changed labels by which a node could draw pods to itself that are not meant for it, in order. */
export function forbiddenLabels(labels: Labels = {}, old: Labels = {}): string[] {
  const keys = new Set([...Object.keys(labels), ...Object.keys(old)]);
  return [...keys].filter((key) => labels[key] !== old[key] && isForbidden(key)).sort();
}

function isForbidden(key: string): boolean {
  const slash = key.indexOf("/");
  const domain = slash < 0 ? "" : key.slice(0, slash);
  if (isIn(domain, "node-restriction.kubernetes.io")) return true;
  const isKubernetes = isIn(domain, "kubernetes.io") || isIn(domain, "k8s.io");
  const isOwn = ownLabels.has(key) || isIn(domain, "kubelet.kubernetes.io") || isIn(domain, "node.kubernetes.io");
  return isKubernetes && !isOwn;
}

const isIn = (domain: string, parent: string): boolean => domain === parent || domain.endsWith(`.${parent}`);

/** What a pod needs from the API, in words; a pod that a node makes by itself may need nothing. */
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
