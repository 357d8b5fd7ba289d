import { type FieldPath, root } from "#schema/field-error.ts";
import { dns1123Label, labelValue } from "../meta/names.ts";
import { type ObjectMeta } from "../meta/object-meta.ts";
import { quantityMilliValue } from "../meta/quantity.ts";
import { type NodeSelectorTerm, type PodAffinity } from "./affinity.ts";
import { type ContainerPort } from "./container.ts";
import { type AnyContainer, placedContainers } from "./pod-containers.ts";
import { type PodObject } from "./pod-fields.ts";
import { appArmorProfileOf } from "./pod-prepare.ts";
import { type PodSpec } from "./pod-spec.ts";
import { type ResourceList } from "./resource-list.ts";
import { appArmorPrefix, seccompPod, seccompPrefix } from "./validate-pod-annotations.ts";
import { volumeWarnings } from "./volume-warnings.ts";

type Warnings = string[];
type Placed = readonly [AnyContainer, FieldPath];

/** What is allowed in a new pod, but hardly meant. */
export function podWarnings({ metadata, spec }: PodObject, old: PodObject | undefined): string[] {
  if (old) return [];
  const warnings: Warnings = [];
  const faults = dns1123Label.all(metadata.name ?? "");
  if (faults.length > 0) {
    const text =
      "this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended";
    warnings.push(`metadata.name: ${text}: [${faults.join(" ")}]`);
  }
  warnings.push(...specWarnings(spec, metadata, root));
  for (const { name } of [...(spec.initContainers ?? []), ...spec.containers]) {
    const key = appArmorPrefix + name;
    const annotation = metadata.annotations?.[key];
    if (annotation !== undefined && !appArmorProfileOf(annotation)) {
      const text = 'deprecated since v1.30; use the "appArmorProfile" field instead';
      warnings.push(`metadata.annotations[${key}]: ${text}`);
    }
  }
  return warnings;
}

/** The same for a template; `path` is where it is. */
function specWarnings(spec: PodSpec, metadata: ObjectMeta, path: FieldPath): string[] {
  const warnings: Warnings = [];
  const at = path.child("spec");
  const placed = placedContainers(spec, at);
  placementWarnings(spec, at, warnings);
  annotationWarnings(spec, metadata, placed, path.child("metadata", "annotations"), warnings);
  warnings.push(...volumeWarnings(spec.volumes ?? [], at.child("volumes")));
  listWarnings(spec, at, warnings);
  fractionWarnings(spec.overhead, at.child("overhead"), warnings);
  for (const [container, place] of placed) containerWarnings(container, place, warnings);
  portWarnings(placed, warnings);
  if (spec.terminationGracePeriodSeconds < 0) {
    const text = "must be >= 0; negative values are invalid and will be treated as 1";
    warnings.push(`${at.child("terminationGracePeriodSeconds")}: ${text}`);
  }
  for (const name of ["podAffinity", "podAntiAffinity"] as const) {
    const affinity = spec.affinity?.[name];
    if (affinity) selectorWarnings(affinity, at.child("affinity", name), warnings);
  }
  return warnings;
}

const replacedLabels = new Map([
  ["beta.kubernetes.io/arch", 'deprecated since v1.14; use "kubernetes.io/arch" instead'],
  ["beta.kubernetes.io/os", 'deprecated since v1.14; use "kubernetes.io/os" instead'],
  ["failure-domain.beta.kubernetes.io/region", 'deprecated since v1.17; use "topology.kubernetes.io/region" instead'],
  ["failure-domain.beta.kubernetes.io/zone", 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'],
  ["beta.kubernetes.io/instance-type", 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead'],
  ["app.kubernetes.io/created-by", "deprecated since v1.9"],
  ["scheduler.alpha.kubernetes.io/preferAvoidPods", "deprecated since v1.22; use Taints and Tolerations instead"],
  ["node-role.kubernetes.io/master", 'use "node-role.kubernetes.io/control-plane" instead'],
]);

function placementWarnings(spec: PodSpec, path: FieldPath, warnings: Warnings): void {
  for (const key in spec.nodeSelector) {
    const text = replacedLabels.get(key);
    if (text) warnings.push(`${path.child("nodeSelector").key(key)}: ${text}`);
  }
  const required = "requiredDuringSchedulingIgnoredDuringExecution";
  const preferred = "preferredDuringSchedulingIgnoredDuringExecution";
  const affinity = path.child("affinity", "nodeAffinity");
  for (const [index, term] of (spec.affinity?.nodeAffinity?.[required]?.nodeSelectorTerms ?? []).entries()) {
    termWarnings(term, false, affinity.child(required, "nodeSelectorTerms").index(index), warnings);
  }
  for (const [index, { preference }] of (spec.affinity?.nodeAffinity?.[preferred] ?? []).entries()) {
    termWarnings(preference, true, affinity.child(preferred).index(index).child("preference"), warnings);
  }
  for (const [index, { topologyKey, labelSelector }] of (spec.topologySpreadConstraints ?? []).entries()) {
    const at = path.child("topologySpreadConstraints").index(index);
    const text = replacedLabels.get(topologyKey);
    if (text) warnings.push(`${at.child("topologyKey")}: ${topologyKey} is ${text}`);
    if (!labelSelector) warnings.push(nullSelector(at));
  }
}

function termWarnings(term: NodeSelectorTerm, checkValues: boolean, path: FieldPath, warnings: Warnings): void {
  for (const [index, { key, values = [] }] of (term.matchExpressions ?? []).entries()) {
    const at = path.child("matchExpressions").index(index);
    const text = replacedLabels.get(key);
    if (text) warnings.push(`${at.child("key")}: ${key} is ${text}`);
    if (!checkValues) continue;
    for (const [position, value] of values.entries()) {
      for (const fault of labelValue.all(value)) {
        warnings.push(`${at.child("values").index(position)}: ${value} is invalid, ${fault}`);
      }
    }
  }
}

const nullSelector = (path: FieldPath): string =>
  `${path.child("labelSelector")}: a null labelSelector results in matching no pod`;

function selectorWarnings(affinity: PodAffinity, path: FieldPath, warnings: Warnings): void {
  const required = "requiredDuringSchedulingIgnoredDuringExecution";
  const preferred = "preferredDuringSchedulingIgnoredDuringExecution";
  for (const [index, { labelSelector }] of (affinity[required] ?? []).entries()) {
    if (!labelSelector) warnings.push(nullSelector(path.child(required).index(index)));
  }
  for (const [index, { podAffinityTerm }] of (affinity[preferred] ?? []).entries()) {
    if (podAffinityTerm.labelSelector) continue;
    warnings.push(nullSelector(path.child(preferred).index(index).child("podAffinityTerm")));
  }
}

const deadAnnotations = [
  ["scheduler.alpha.kubernetes.io/critical-pod", 'non-functional in v1.16+; use the "priorityClassName" field instead'],
  ["security.alpha.kubernetes.io/sysctls", 'non-functional in v1.11+; use the "sysctls" field instead'],
  ["security.alpha.kubernetes.io/unsafe-sysctls", 'non-functional in v1.11+; use the "sysctls" field instead'],
] as const;
const seccompText = 'non-functional in v1.27+; use the "seccompProfile" field instead';

function annotationWarnings(
  spec: PodSpec,
  { annotations }: ObjectMeta,
  placed: readonly Placed[],
  path: FieldPath,
  warnings: Warnings,
): void {
  if (!annotations) return;
  for (const [key, text] of deadAnnotations) {
    if (annotations[key] !== undefined) warnings.push(`${path.key(key)}: ${text}`);
  }
  if (!spec.securityContext.seccompProfile && annotations[seccompPod] !== undefined) {
    warnings.push(`${path.key(seccompPod)}: ${seccompText}`);
  }
  for (const [{ name, securityContext }] of placed) {
    const key = seccompPrefix + name;
    if (!securityContext?.seccompProfile && annotations[key] !== undefined) {
      warnings.push(`${path.key(key)}: ${seccompText}`);
    }
  }
}

function listWarnings({ hostAliases = [], imagePullSecrets = [] }: PodSpec, path: FieldPath, warnings: Warnings): void {
  const repeated = (values: readonly string[], name: string, list: FieldPath): void => {
    for (const [index, value] of values.entries()) {
      if (values.indexOf(value) === index) continue;
      warnings.push(`${list.index(index).child(name)}: duplicate ${name} ${JSON.stringify(value)}`);
    }
  };
  const aliases = hostAliases.map(({ ip }) => ip);
  const secrets = imagePullSecrets.map(({ name = "" }) => name);
  repeated(aliases, "ip", path.child("hostAliases"));
  repeated(secrets, "name", path.child("imagePullSecrets"));
  for (const [index, name] of secrets.entries()) {
    if (!name) warnings.push(`${path.child("imagePullSecrets").index(index).child("name")}: invalid empty name ""`);
  }
}

function fractionWarnings(list: ResourceList | undefined, path: FieldPath, warnings: Warnings): void {
  for (const name of ["memory", "ephemeral-storage"]) {
    const amount = list?.[name];
    if (amount === undefined || quantityMilliValue(amount) % 1000 === 0) continue;
    warnings.push(`${path.key(name)}: fractional byte value ${JSON.stringify(amount)} is invalid, must be an integer`);
  }
}

function containerWarnings({ resources, env = [] }: AnyContainer, path: FieldPath, warnings: Warnings): void {
  fractionWarnings(resources.limits, path.child("resources", "limits"), warnings);
  fractionWarnings(resources.requests, path.child("resources", "requests"), warnings);
  const seen = new Set<string>();
  for (const [index, { name, value = "", valueFrom }] of env.entries()) {
    const reference = `$(${name})`;
    // To add to an earlier definition of the same name is a known trick.
    const extends_ = !valueFrom && value !== reference && value.includes(reference);
    if (seen.has(name) && !extends_) {
      const text = `hides previous definition of ${JSON.stringify(name)}, which may be dropped when using apply`;
      warnings.push(`${path.child("env").index(index)}: ${text}`);
    }
    seen.add(name);
  }
}

/** As upstream's own formatter shows it. */
const showPort = ({ name = "", hostPort = 0, containerPort, protocol, hostIP = "" }: ContainerPort): string =>
  `{Name:${name} HostPort:${hostPort} ContainerPort:${containerPort} Protocol:${protocol} HostIP:${hostIP}}`;

function portWarnings(placed: readonly Placed[], warnings: Warnings): void {
  const ports = placed.flatMap(([{ ports: list = [] }, path]) =>
    list.map((port, index) => ({ port, path: path.child("ports").index(index) })),
  );
  for (const [index, { port, path }] of ports.entries()) {
    if (port.hostIP && !port.hostPort) warnings.push(`${path}: hostIP set without hostPort: ${showPort(port)}`);
    for (const other of ports.slice(0, index)) {
      const text = clashOf(port, other.port);
      if (text) warnings.push(`${path}: ${text} with ${other.path}`);
    }
  }
  for (const [index, { port, path }] of ports.entries()) {
    const first = ports.findIndex((other) => port.name && other.port.name === port.name);
    if (first < 0 || first === index) continue;
    const other = ports[first]?.path;
    const text = `duplicate port name ${JSON.stringify(port.name)} with ${other}`;
    warnings.push(`${path}: ${text}, services and probes that select ports by name will use ${other}`);
  }
}

function clashOf(a: ContainerPort, b: ContainerPort): string | undefined {
  if (a.containerPort !== b.containerPort || a.protocol !== b.protocol) return undefined;
  const { hostIP: ipA = "", hostPort: portA = 0 } = a;
  const { hostIP: ipB = "", hostPort: portB = 0 } = b;
  if (ipA === ipB && portA === portB) return "duplicate port definition";
  if (portA === 0 || portB === 0) return "overlapping port definition";
  const isAmbiguous = portA === portB && (ipA === "") !== (ipB === "");
  return isAmbiguous ? "dangerously ambiguous port definition" : undefined;
}
