import { type Node, type Taint } from "#api/core/node.ts";
import { podRequests } from "#api/core/pod/pod-resources.ts";
import { tolerates } from "#api/core/pod/tolerations.ts";
import { compareQuantities, quantityValue } from "#api/meta/quantity.ts";
import { type NodeRejection } from "#trace/answers.ts";
import { type NodeRoom, type PodFacts } from "../facts.ts";
import { wantedHostPorts } from "../rooms.ts";
import { clashAdvice, clashDetails, clashOf, clashWords } from "./neighbours.ts";

/** Why a node was rejected, in plain words. Equal causes have equal words, so that they can be counted. */
export interface Cause {
  /** `is short of cpu`. */
  readonly one: string;
  /** `are short of cpu`. */
  readonly many: string;
}

export function causeOf({ plugin, reasons }: NodeRejection): Cause {
  const lacking = lackingOf(reasons);
  if (lacking.length > 0) return is(`short of ${lacking.join(" and ")}`);
  const clash = clashOf({ plugin, reasons });
  if (clash) return clashWords[clash];
  switch (plugin) {
    case "TaintToleration":
      return has("a taint that the pod does not tolerate");
    case "NodeAffinity":
      return is("outside the pod's node selector or affinity");
    case "NodeName":
      return is("not the node that the pod names");
    case "NodePorts":
      return has("the pod's host port already in use");
    case "NodeUnschedulable":
      return is("cordoned");
    case "NodeDeclaredFeatures":
      return has("no support for a feature that the pod needs");
    case "VolumeBinding":
    case "VolumeZone":
      if (reasons.some((reason) => reason.includes("enough free storage")))
        return is("short of storage for a new volume");
      return is("out of reach of a volume that the pod needs");
    case "NodeVolumeLimits":
      return has("as many volumes as it can have");
    case "VolumeRestrictions":
      return has("a volume of the pod in use by another pod");
    case "DynamicResources":
      return has(`no devices for the claims of the pod: ${reasons.join(", ")}`);
    case "Extender":
      return is(`refused by an extender: ${reasons.join(", ")}`);
    default:
      return has(`another reason: ${reasons.join(", ")}`);
  }
}

const is = (what: string): Cause => ({ one: `is ${what}`, many: `are ${what}` });
const has = (what: string): Cause => ({ one: `has ${what}`, many: `have ${what}` });

/** `Insufficient cpu` gives `cpu`. */
const lackingOf = (reasons: readonly string[]): string[] =>
  reasons.flatMap((reason) => {
    if (reason === "Too many pods") return ["pods"];
    return reason.startsWith("Insufficient ") ? [reason.slice("Insufficient ".length)] : [];
  });

/** For the headline when all nodes lack the same resource: what the pod requests, and the most that is free. */
export function shortOf(facts: PodFacts, rejections: readonly NodeRejection[]): string | undefined {
  const [lack, ...more] = new Set(rejections.flatMap(({ reasons }) => lackingOf(reasons)));
  const isAll = rejections.every(({ reasons }) => lackingOf(reasons).length > 0);
  if (!lack || lack === "pods" || more.length > 0 || !isAll) return undefined;
  const asked = podRequests(facts.pod.spec)[lack];
  const frees = facts.rooms.map(({ node, free }) => ({ name: node.metadata.name, free: free[lack] ?? "0" }));
  const [best] = frees.toSorted((a, b) => compareQuantities(b.free, a.free));
  if (!asked || !best) return undefined;
  return `the pod requests ${asked} ${lack}, and at most ${readable(best.free, lack)} is free (on ${best.name})`;
}

const roomOf = ({ rooms }: PodFacts, name: string) => rooms.find(({ node }) => node.metadata.name === name);

/** `node-1: Insufficient cpu (requests 4, free 1500m of 4 cpu)`. */
export function describeRejection(facts: PodFacts, { node: name, plugin, reasons }: NodeRejection): string {
  const room = roomOf(facts, name);
  if (!room) return `${name}: ${reasons.join(", ")}`;
  const lacking = lackingOf(reasons);
  const details = lacking.map((resource) => describeLack(facts, room, resource));
  // The scheduler stops at the first reason, but a user wants to know all of them.
  const also =
    lacking.length > 0
      ? []
      : shortages(facts, room, plugin).map((resource) => `also short: ${describeLack(facts, room, resource)}`);
  const labels = reasons.some((reason) => reason.includes("affinity/selector"))
    ? [missingLabels(facts, room.node)]
    : [];
  const ports =
    plugin === "NodePorts"
      ? wantedHostPorts(facts.pod).flatMap((port) => {
          const holder = room.hostPorts.get(port);
          return holder ? [`${port} is used by pod ${holder}`] : [];
        })
      : [];
  const taints = plugin === "TaintToleration" ? untolerated(facts, room.node).map(describeTaint) : [];
  const clash = clashOf({ plugin, reasons });
  const clashes = clash ? clashDetails(facts.pod, room.node, clash) : [];
  const more = [...details, ...labels, ...ports, ...taints, ...clashes, ...also].filter(Boolean).join("; ");
  return `${name}: ${reasons.join(", ")}${more ? ` (${more})` : ""}`;
}

function describeLack({ pod }: PodFacts, { node, free }: NodeRoom, resource: string): string {
  const asked = resource === "pods" ? "1" : (podRequests(pod.spec)[resource] ?? "0");
  const has = (amount = "0"): string => readable(amount, resource);
  return `requests ${asked}, free ${has(free[resource])} of ${has(node.status.allocatable?.[resource])} ${resource}`;
}

/** Bytes in the largest unit that they fill: nobody can read 24524356Ki. */
function readable(amount: string, resource: string): string {
  const isBytes = resource === "memory" || resource === "ephemeral-storage" || resource.startsWith("hugepages-");
  const bytes = isBytes ? quantityValue(amount) : 0;
  if (bytes >= 2 ** 30) return `${Math.floor((bytes / 2 ** 30) * 10) / 10}Gi`;
  return bytes >= 2 ** 20 ? `${Math.floor(bytes / 2 ** 20)}Mi` : amount;
}

function shortages({ pod }: PodFacts, { free }: NodeRoom, plugin: string): string[] {
  // Extenders are asked about nodes with room, and may themselves manage a resource that no node has.
  if (plugin === "Extender") return [];
  return Object.entries(podRequests(pod.spec)).flatMap(([name, asked]) =>
    compareQuantities(asked, free[name] ?? "0") > 0 ? [name] : [],
  );
}

function missingLabels({ pod }: PodFacts, { metadata }: Node): string {
  const wanted = Object.entries(pod.spec.nodeSelector ?? {});
  const lacking = wanted.filter(([key, value]) => metadata.labels?.[key] !== value);
  const labels = lacking.map(([key, value]) => `wants label ${key}=${value}, has ${metadata.labels?.[key] ?? "none"}`);
  return [...labels, ...wantedTerms(pod)].join(", ");
}

/** `wants zone In a, b`. */
function wantedTerms({ spec }: PodFacts["pod"]): string[] {
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const terms = (required?.nodeSelectorTerms ?? []).map(({ matchExpressions = [], matchFields = [] }) =>
    [...matchExpressions, ...matchFields]
      .map(({ key, operator, values = [] }) => `${key} ${operator} ${values.join(", ")}`.trimEnd())
      .join(" and "),
  );
  return terms.length > 0 ? [`wants ${terms.join(" or ")}`] : [];
}

/** What would make this node accept the pod. */
export function adviceFor(facts: PodFacts, rejection: NodeRejection): string[] {
  const { node, plugin, reasons } = rejection;
  const lacking = lackingOf(reasons);
  if (lacking.length > 0) return lacking.map((resource) => roomAdvice(facts, resource));
  const room = roomOf(facts, node);
  const also = room ? shortages(facts, room, plugin).map((resource) => roomAdvice(facts, resource)) : [];
  return [...gateAdvice(facts, rejection), ...also];
}

function gateAdvice(facts: PodFacts, { node, plugin, reasons }: NodeRejection): string[] {
  const clash = clashOf({ plugin, reasons });
  if (clash) return [clashAdvice(facts.pod, node, clash)];
  switch (plugin) {
    case "TaintToleration":
      return [taintAdvice(facts, node)];
    case "NodeAffinity": {
      const [label] = Object.entries(facts.pod.spec.nodeSelector ?? {});
      const how = label ? `\`kubectl label node ${node} ${label[0]}=${label[1]}\`` : "label a node";
      return [`Make a node match the pod's node selector or affinity: ${how}, or change the pod.`];
    }
    case "NodeName":
      return [`Start a node called ${facts.pod.spec.nodeName ?? ""}, or remove spec.nodeName from the pod.`];
    case "NodePorts":
      return ["Use another hostPort, or none: only one pod per node can use a host port."];
    case "VolumeBinding":
    case "VolumeZone":
      return ["Look where the volumes are: `kubectl describe pv`. Their node affinity and zones decide."];
    case "NodeVolumeLimits":
      return [
        `Look at the limit of ${node} in \`kubectl get csinode ${node} -o yaml\`: delete pods with volumes, or add a node.`,
      ];
    case "VolumeRestrictions":
      return ["Delete the pod that uses the volume: only one pod at a time may."];
    case "NodeUnschedulable":
      return [`Allow pods on ${node} again: \`kubectl uncordon ${node}\`.`];
    case "NodeDeclaredFeatures":
      return ["Look at what nodes can do in `status.declaredFeatures`: the pod needs more than that."];
    case "DynamicResources":
      return [
        "Compare what the claims ask for with the devices that drivers report and other claims have: `kubectl get resourceclaims,resourceslices -A -o yaml`.",
      ];
    case "Extender":
      return ["Ask whoever runs the extender: it is one of those in the scheduler's configuration file."];
    default:
      return [];
  }
}

function roomAdvice({ pod, rooms }: PodFacts, resource: string): string {
  if (resource === "pods")
    return "Every node has reached its limit of pods: delete some pods, add a node, or raise the limit.";
  const asked = podRequests(pod.spec)[resource] ?? "0";
  const largest = rooms
    .map(({ node }) => node.status?.allocatable?.[resource] ?? "0")
    .toSorted(compareQuantities)
    .at(-1);
  if (largest !== undefined && compareQuantities(asked, largest) > 0) {
    return `No node is large enough even when empty (the largest has ${readable(largest, resource)} ${resource}): lower the request of ${asked}, or add a larger node.`;
  }
  return `Request less than ${asked} ${resource}, delete or scale down other pods, or add a node.`;
}

function taintAdvice(facts: PodFacts, name: string): string {
  const [taint] = untolerated(facts, roomOf(facts, name)?.node);
  if (!taint) return `Add a toleration to the pod, or remove the taint from ${name}.`;
  const { key } = taint;
  if (key.startsWith("node.kubernetes.io/"))
    return `Find out why ${name} has the taint ${key}: \`orlop why node/${name}\`.`;
  return `Add a toleration for ${key} to the pod, or remove the taint: \`kubectl taint node ${name} ${key}-\`.`;
}

/** The taints that keep the pod off the node. */
const untolerated = ({ pod }: PodFacts, node: Node | undefined): Taint[] =>
  (node?.spec?.taints ?? []).filter(
    (taint) => taint.effect !== "PreferNoSchedule" && !tolerates(pod.spec.tolerations, taint),
  );

const describeTaint = ({ key, value, effect }: Taint): string => `${key}${value ? `=${value}` : ""}:${effect}`;
