import { type Node, type Taint } from "#api/core/node.ts";
import { type NodeSelectorTerm } from "#api/core/pod/affinity.ts";
import { type Pod } from "#api/core/pod.ts";
import { quantityMilliValue, quantityValue } from "#api/meta/quantity.ts";
import { type World } from "./across-nodes.suite.ts";

/**
 * The rules about one node and the pods on it, written down as plainly as possible and computed from nothing each time.
 * Only tests compare the plugins with it.
 */

/** Why a node is rejected: by which plugin, in which words, and whether the end of pods could change that. */
export interface Reason {
  readonly plugin: string;
  readonly reasons: readonly string[];
  readonly isFinal: boolean;
}

const podsOn = ({ pods }: World, node: Node): Pod[] => pods.filter(({ spec }) => spec.nodeName === node.metadata.name);

type Toleration = NonNullable<Pod["spec"]["tolerations"]>[number];

function isTolerated({ spec }: Pod, taint: Taint): boolean {
  return (spec.tolerations ?? []).some((toleration: Toleration) => {
    if (toleration.effect && toleration.effect !== taint.effect) return false;
    if (toleration.operator === "Exists") return !toleration.key || toleration.key === taint.key;
    return toleration.key === taint.key && (toleration.value ?? "") === (taint.value ?? "");
  });
}

function isMatch({ matchExpressions = [] }: NodeSelectorTerm, { metadata }: Node): boolean {
  if (matchExpressions.length === 0) return false;
  return matchExpressions.every(({ key, operator, values = [] }) => {
    const value = metadata.labels?.[key];
    if (operator === "Exists") return value !== undefined;
    if (operator === "DoesNotExist") return value === undefined;
    if (operator === "NotIn") return value === undefined || !values.includes(value);
    if (value === undefined) return false;
    if (operator === "In") return values.includes(value);
    return operator === "Gt" ? Number(value) > Number(values[0]) : Number(value) < Number(values[0]);
  });
}

function isWanted({ spec }: Pod, node: Node): boolean {
  const pairs = Object.entries(spec.nodeSelector ?? {});
  if (!pairs.every(([key, value]) => node.metadata.labels?.[key] === value)) return false;
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return !required || required.nodeSelectorTerms.some((term) => isMatch(term, node));
}

const portsOf = ({ spec }: Pod) =>
  spec.containers
    .flatMap(({ ports = [] }) => ports)
    .filter(({ hostPort }) => hostPort)
    .map(({ hostPort, hostIP, protocol = "TCP" }) => ({ hostPort, protocol, ip: hostIP || "0.0.0.0" }));

const arePortsTaken = (world: World, pod: Pod, node: Node): boolean =>
  portsOf(pod).some((wanted) =>
    podsOn(world, node)
      .flatMap(portsOf)
      .some(
        (used) =>
          used.hostPort === wanted.hostPort &&
          used.protocol === wanted.protocol &&
          (used.ip === wanted.ip || used.ip === "0.0.0.0" || wanted.ip === "0.0.0.0"),
      ),
  );

const unit = (name: string): ((text: string) => number) => (name === "cpu" ? quantityMilliValue : quantityValue);
type Container = Pod["spec"]["containers"][number];

/** What the container asks for, or more while it is being resized. */
function amountOf(pod: Pod, { name: container, resources }: Container, name: string, otherwise = 0): number {
  const parse = unit(name);
  const asked = resources.requests?.[name];
  const status = pod.spec.nodeName ? pod.status?.containerStatuses?.find((each) => each.name === container) : undefined;
  const held = [status?.resources?.requests?.[name], status?.allocatedResources?.[name]].flatMap((text) =>
    text === undefined ? [] : parse(text),
  );
  return Math.max(asked === undefined ? otherwise : parse(asked), ...held);
}

/** All containers together, or the largest init container, and what the runtime adds. */
function requestOf(pod: Pod, name: string, otherwise = 0): number {
  const together = pod.spec.containers.reduce((sum, each) => sum + amountOf(pod, each, name, otherwise), 0);
  const first = (pod.spec.initContainers ?? []).map((each) => amountOf(pod, each, name, otherwise));
  return Math.max(together, ...first) + unit(name)(pod.spec.overhead?.[name] ?? "0");
}

const usedOn = (world: World, node: Node, name: string, otherwise = 0): number =>
  podsOn(world, node).reduce((sum, pod) => sum + requestOf(pod, name, otherwise), 0);
const sizeOf = (node: Node, name: string): number => unit(name)(node.status?.allocatable?.[name] ?? "0");

const resources = ["cpu", "memory", "ephemeral-storage", "example.com/chip"];

function missing(world: World, pod: Pod, node: Node): Reason | undefined {
  const tooMany = podsOn(world, node).length >= quantityValue(node.status?.allocatable?.pods ?? "0");
  const lacking = resources.filter((name) => {
    const asked = requestOf(pod, name);
    return asked > 0 && asked > sizeOf(node, name) - usedOn(world, node, name);
  });
  if (!tooMany && lacking.length === 0) return undefined;
  const reasons = [...(tooMany ? ["Too many pods"] : []), ...lacking.map((name) => `Insufficient ${name}`)];
  const isFinal = resources.some((name) => requestOf(pod, name) > sizeOf(node, name));
  return { plugin: "NodeResourcesFit", reasons, isFinal };
}

const final = (plugin: string, reason: string): Reason => ({ plugin, reasons: [reason], isFinal: true });

/** The first rule that rejects the node; undefined if all accept it. */
export function nodeReason(world: World, pod: Pod, node: Node): Reason | undefined {
  const cordon = { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" };
  if (node.spec?.unschedulable && !isTolerated(pod, cordon)) {
    return final("NodeUnschedulable", "node(s) were unschedulable");
  }
  const taints = (node.spec?.taints ?? []).filter(({ effect }) => effect !== "PreferNoSchedule");
  if (!taints.every((taint) => isTolerated(pod, taint))) {
    return final("TaintToleration", "node(s) had untolerated taint(s)");
  }
  if (!isWanted(pod, node)) return final("NodeAffinity", "node(s) didn't match Pod's node affinity/selector");
  if (arePortsTaken(world, pod, node)) {
    const reason = "node(s) didn't have free ports for the requested pod ports";
    return { plugin: "NodePorts", reasons: [reason], isFinal: false };
  }
  return missing(world, pod, node);
}

const scaled = (values: number[]): number[] => {
  const largest = Math.max(0, ...values);
  return values.map((value) => (largest > 0 ? Math.floor((100 * value) / largest) : 0));
};

function taintScores(pod: Pod, nodes: readonly Node[]): number[] {
  const counts = nodes.map(({ spec }) => {
    const preferred = (spec?.taints ?? []).filter(({ effect }) => effect === "PreferNoSchedule");
    return preferred.filter((taint) => !isTolerated(pod, taint)).length;
  });
  return scaled(counts).map((share) => 100 - share);
}

function affinityScores({ spec }: Pod, nodes: readonly Node[]): number[] {
  const preferred = spec.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  return scaled(
    nodes.map((node) =>
      preferred.filter(({ preference }) => isMatch(preference, node)).reduce((sum, { weight }) => sum + weight, 0),
    ),
  );
}

/** A pod without a request is assumed to need a little. */
const assumed = [
  ["cpu", 100],
  ["memory", 200 * 1024 * 1024],
] as const;

const leastAllocated = (world: World, pod: Pod, nodes: readonly Node[]): number[] =>
  nodes.map((node) => {
    const shares = assumed.map(([name, otherwise]) => {
      const size = sizeOf(node, name);
      const used = usedOn(world, node, name, otherwise) + requestOf(pod, name, otherwise);
      return used > size ? 0 : Math.floor(((size - used) * 100) / size);
    });
    return Math.floor(((shares[0] ?? 0) + (shares[1] ?? 0)) / 2);
  });

function balanced(world: World, pod: Pod, nodes: readonly Node[]): number[] {
  if (requestOf(pod, "cpu") === 0 && requestOf(pod, "memory") === 0) return nodes.map(() => 0);
  return nodes.map((node) => {
    const agreement = (more: number): number => {
      const [cpu = 0, memory = 0] = assumed.map(([name]) =>
        Math.min((usedOn(world, node, name) + more * requestOf(pod, name)) / sizeOf(node, name), 1),
      );
      return Math.trunc((1 - Math.abs((cpu - memory) / 2)) * 100);
    };
    return 50 + Math.trunc((50 + agreement(1) - agreement(0)) / 2);
  });
}

function imageScores({ nodes: all }: World, { spec }: Pod, nodes: readonly Node[]): number[] {
  const mebibyte = 1024 * 1024;
  const containers = [...(spec.initContainers ?? []), ...spec.containers];
  const wanted = containers.map(({ image = "" }) => (image.includes(":") ? image : `${image}:latest`));
  const sizeOn = (node: Node, name: string): number =>
    node.status?.images?.findLast(({ names }) => names?.includes(name))?.sizeBytes ?? 0;
  const isOn = (node: Node, name: string) => node.status?.images?.some(({ names }) => names?.includes(name));
  return nodes.map((node) => {
    const bytes = wanted.reduce((sum, name) => {
      const spread = all.filter((other) => isOn(other, name)).length / all.length;
      return sum + Math.floor(sizeOn(node, name) * spread);
    }, 0);
    const [least, most] = [23 * mebibyte, 1000 * mebibyte * containers.length];
    return Math.floor((100 * (Math.min(Math.max(bytes, least), most) - least)) / (most - least));
  });
}

/** The weighted scores of nodes by the plugins that look at each of them alone. */
export function nodeScores(world: World, pod: Pod, nodes: readonly Node[]): number[] {
  const parts = [
    { weight: 3, scores: taintScores(pod, nodes) },
    { weight: 2, scores: affinityScores(pod, nodes) },
    { weight: 1, scores: leastAllocated(world, pod, nodes) },
    { weight: 1, scores: balanced(world, pod, nodes) },
    { weight: 1, scores: imageScores(world, pod, nodes) },
  ];
  return nodes.map((_, at) => parts.reduce((sum, { weight, scores }) => sum + weight * (scores[at] ?? 0), 0));
}
