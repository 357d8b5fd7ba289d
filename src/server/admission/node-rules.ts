import { regionLabel, zoneLabel } from "#api/well-known.ts";

type Labels = Readonly<Record<string, string>>;

/** Labels in the namespaces of Kubernetes that a node may set on itself. */
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

/** The changed labels with which a node could attract pods that are not meant for it, sorted. */
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
