import { type ContainerPort } from "#api/core/container/container.ts";
import { warnOfFraction, warnOfVolumes } from "#api/core/volume/volume-warnings.ts";
import { type Cursor } from "#api/cursor.ts";
import { dns1123Label, labelValue } from "#api/meta/names.ts";
import { type ObjectMeta } from "#api/meta/object-meta.ts";
import { type NodeSelectorTerm, type PodAffinity } from "./affinity.ts";
import { type AnyContainer, containersAt } from "./pod-containers.ts";
import { type PodObject } from "./pod-fields.ts";
import { appArmorProfileOf } from "./pod-prepare.ts";
import { type PodSpec } from "./pod-spec.ts";
import { appArmorPrefix, seccompPod, seccompPrefix } from "./validate/validate-pod-annotations.ts";

/** Warnings about settings of a new pod that are allowed but probably not intended. */
export function podWarnings(pod: Cursor<PodObject>, old: PodObject | undefined): void {
  if (old) return;
  const { metadata, spec } = pod.value;
  const faults = dns1123Label.all(metadata.name ?? "");
  if (faults.length > 0) {
    const text = "this is used in the Pod's hostname, which can result in surprising behavior";
    pod.under("metadata", "name").warn(`${text}; a DNS label is recommended: [${faults.join(" ")}]`);
  }
  warnOfSpec(pod);
  for (const { name } of [...(spec.initContainers ?? []), ...spec.containers]) {
    const key = appArmorPrefix + name;
    const annotation = metadata.annotations?.[key];
    if (annotation === undefined || appArmorProfileOf(annotation)) continue;
    const at = pod.under("metadata", "annotations").key(key, annotation);
    at.warn('deprecated since v1.30; use the "appArmorProfile" field instead');
  }
}

/** The same for a pod or the template of one. */
export function warnOfSpec(pod: Cursor<Pick<PodObject, "metadata" | "spec">>): void {
  const at = pod.field("spec");
  const containers = containersAt(at);
  warnOfPlacement(at);
  warnOfAnnotations(pod.under("metadata", "annotations").as(pod.value.metadata.annotations), at.value, containers);
  warnOfVolumes(at);
  warnOfRepeats(at);
  warnOfFractions(at.field("overhead"));
  for (const at of containers) warnOfContainer(at);
  warnOfPorts(containers);
  if (at.value.terminationGracePeriodSeconds < 0) {
    const text = "must be >= 0; negative values are invalid and will be treated as 1";
    at.field("terminationGracePeriodSeconds").warn(text);
  }
  at.on("affinity", (at) => {
    at.on("podAffinity", warnOfSelectors);
    at.on("podAntiAffinity", warnOfSelectors);
  });
}

/** Labels of nodes that have a successor, with what is said about them. */
export const replacedLabels = new Map([
  ["beta.kubernetes.io/arch", 'deprecated since v1.14; use "kubernetes.io/arch" instead'],
  ["beta.kubernetes.io/os", 'deprecated since v1.14; use "kubernetes.io/os" instead'],
  ["failure-domain.beta.kubernetes.io/region", 'deprecated since v1.17; use "topology.kubernetes.io/region" instead'],
  ["failure-domain.beta.kubernetes.io/zone", 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'],
  ["beta.kubernetes.io/instance-type", 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead'],
  ["app.kubernetes.io/created-by", "deprecated since v1.9"],
  ["scheduler.alpha.kubernetes.io/preferAvoidPods", "deprecated since v1.22; use Taints and Tolerations instead"],
  ["node-role.kubernetes.io/master", 'use "node-role.kubernetes.io/control-plane" instead'],
]);

const required = "requiredDuringSchedulingIgnoredDuringExecution";
const preferred = "preferredDuringSchedulingIgnoredDuringExecution";

function warnOfPlacement(pod: Cursor<PodSpec>): void {
  pod.eachKey("nodeSelector", (at, key) => {
    const text = replacedLabels.get(key);
    if (text) at.warn(text);
  });
  pod.on("affinity", (at) =>
    at.on("nodeAffinity", (at) => {
      at.on(required, (at) => at.each("nodeSelectorTerms", (at) => warnOfTerm(at, "keys")));
      at.each(preferred, (at) => at.on("preference", (at) => warnOfTerm(at, "keys and values")));
    }),
  );
  pod.each("topologySpreadConstraints", (at) => {
    const { topologyKey } = at.value;
    const text = replacedLabels.get(topologyKey);
    if (text) at.field("topologyKey").warn(`${topologyKey} is ${text}`);
    warnOfNoSelector(at);
  });
}

export function warnOfTerm(term: Cursor<NodeSelectorTerm>, checked: "keys" | "keys and values"): void {
  term.each("matchExpressions", (at) => {
    const { key } = at.value;
    const text = replacedLabels.get(key);
    if (text) at.field("key").warn(`${key} is ${text}`);
    if (checked === "keys") return;
    at.each("values", (at) => {
      for (const fault of labelValue.all(at.value)) at.warn(`${at.value} is invalid, ${fault}`);
    });
  });
}

function warnOfNoSelector(at: Cursor<{ labelSelector?: object }>): void {
  if (!at.value.labelSelector) at.field("labelSelector").warn("a null labelSelector results in matching no pod");
}

function warnOfSelectors(at: Cursor<PodAffinity>): void {
  at.each(required, warnOfNoSelector);
  at.each(preferred, (at) => at.on("podAffinityTerm", warnOfNoSelector));
}

const deadAnnotations = [
  ["scheduler.alpha.kubernetes.io/critical-pod", 'non-functional in v1.16+; use the "priorityClassName" field instead'],
  ["security.alpha.kubernetes.io/sysctls", 'non-functional in v1.11+; use the "sysctls" field instead'],
  ["security.alpha.kubernetes.io/unsafe-sysctls", 'non-functional in v1.11+; use the "sysctls" field instead'],
] as const;
const seccompText = 'non-functional in v1.27+; use the "seccompProfile" field instead';

function warnOfAnnotations(
  at: Cursor<ObjectMeta["annotations"]>,
  { securityContext }: PodSpec,
  containers: readonly Cursor<AnyContainer>[],
): void {
  const { value: annotations } = at;
  if (!annotations) return;
  for (const [key, text] of deadAnnotations) if (annotations[key] !== undefined) at.key(key, undefined).warn(text);
  const warnOfSeccomp = (key: string, profile: unknown): void => {
    if (!profile && annotations[key] !== undefined) at.key(key, undefined).warn(seccompText);
  };
  warnOfSeccomp(seccompPod, securityContext.seccompProfile);
  for (const { value } of containers) warnOfSeccomp(seccompPrefix + value.name, value.securityContext?.seccompProfile);
}

function warnOfRepeats(pod: Cursor<PodSpec>): void {
  const addresses = new Set<string>();
  pod.each("hostAliases", (at) => {
    const { ip } = at.value;
    if (addresses.has(ip)) at.field("ip").warn(`duplicate ip ${JSON.stringify(ip)}`);
    addresses.add(ip);
  });
  const secrets = new Set<string>();
  pod.each("imagePullSecrets", (at) => {
    const { name = "" } = at.value;
    if (secrets.has(name)) at.field("name").warn(`duplicate name ${JSON.stringify(name)}`);
    secrets.add(name);
  });
  pod.each("imagePullSecrets", (at) => {
    if (!at.value.name) at.field("name").warn('invalid empty name ""');
  });
}

function warnOfFractions(at: Cursor<Record<string, string> | undefined>): void {
  warnOfFraction(at, "memory");
  warnOfFraction(at, "ephemeral-storage");
}

function warnOfContainer(container: Cursor<AnyContainer>): void {
  const resources = container.field("resources");
  warnOfFractions(resources.field("limits"));
  warnOfFractions(resources.field("requests"));
  const seen = new Set<string>();
  container.each("env", (at) => {
    const { name, value = "", valueFrom } = at.value;
    const reference = `$(${name})`;
    // Adding to an earlier definition of the same name is a common pattern.
    const isExtended = !valueFrom && value !== reference && value.includes(reference);
    if (seen.has(name) && !isExtended) {
      at.warn(`hides previous definition of ${JSON.stringify(name)}, which may be dropped when using apply`);
    }
    seen.add(name);
  });
}

/** As upstream's own formatter shows it. */
const showPort = ({ name = "", hostPort = 0, containerPort, protocol, hostIP = "" }: ContainerPort): string =>
  `{Name:${name} HostPort:${hostPort} ContainerPort:${containerPort} Protocol:${protocol} HostIP:${hostIP}}`;

/** A port is compared with so many earlier ones of the same number, because there may be thousands. */
const maxCompared = 8;

function warnOfPorts(containers: readonly Cursor<AnyContainer>[]): void {
  const ports: Cursor<ContainerPort>[] = [];
  for (const at of containers) at.each("ports", (port) => ports.push(port));
  const byNumber = new Map<string, Cursor<ContainerPort>[]>();
  for (const at of ports) {
    const { value: port } = at;
    if (port.hostIP && !port.hostPort) at.warn(`hostIP set without hostPort: ${showPort(port)}`);
    const key = `${port.protocol} ${port.containerPort}`;
    const others = byNumber.get(key) ?? [];
    for (const other of others) {
      const text = clashOf(port, other.value);
      if (text) at.warn(() => `${text} with ${other}`);
    }
    if (others.length === 0) byNumber.set(key, others);
    if (others.length < maxCompared) others.push(at);
  }
  const byName = new Map<string, Cursor<ContainerPort>>();
  for (const at of ports) {
    const { name } = at.value;
    if (!name) continue;
    const first = byName.get(name);
    if (!first) byName.set(name, at);
    else {
      const text = `duplicate port name ${JSON.stringify(name)} with ${first}`;
      at.warn(`${text}, services and probes that select ports by name will use ${first}`);
    }
  }
}

/** What is wrong with two ports of the same number and protocol. */
function clashOf(a: ContainerPort, b: ContainerPort): string | undefined {
  const { hostIP: ipA = "", hostPort: portA = 0 } = a;
  const { hostIP: ipB = "", hostPort: portB = 0 } = b;
  if (ipA === ipB && portA === portB) return "duplicate port definition";
  if (portA === 0 || portB === 0) return "overlapping port definition";
  const isAmbiguous = portA === portB && (ipA === "") !== (ipB === "");
  return isAmbiguous ? "dangerously ambiguous port definition" : undefined;
}
