import { isDeviceResource } from "#api/core/container/resource-list.ts";
import type { Node } from "#api/core/node.ts";
import { matchesRequired } from "#api/core/node-match.ts";
import { hostPorts, isAnyPortTaken } from "#api/core/pod/host-ports.ts";
import { allContainers } from "#api/core/pod/pod-containers.ts";
import { podRequests, qosClassOf } from "#api/core/pod/pod-resources.ts";
import { tolerates } from "#api/core/pod/tolerations.ts";
import type { Pod } from "#api/core/pod.ts";
import { quantityMilliValue, quantityValue } from "#api/meta/quantity.ts";
import { isStaticPod } from "#kubelet/resources/critical-pod.ts";
import { comesFromClaim } from "./admit-devices.ts";
import type { Amounts } from "./machine.ts";

export interface Rejection {
  readonly reason: string;
  readonly message: string;
}
export interface NodeRoom {
  readonly allocatable: Amounts;
  /** The other pods of the node that have not ended. */
  readonly others: readonly Pod[];
  /** Sysctls that pods may set besides the safe ones; one that ends in * stands for all that begin so. */
  readonly unsafeSysctls?: readonly string[];
  /** The policy by which Guaranteed pods keep the resources that they have. */
  readonly fixedBy?: string | undefined;
  /** What the machine and its runtime can do; true where it is not known. */
  readonly features?: { readonly supplementalGroupsPolicy?: boolean; readonly appArmor?: boolean } | undefined;
  /** The labels and taints of the node, as far as they are known. */
  readonly node?: Node | undefined;
}

/** Whether the node can run a pod that was bound to it. The scheduler may not have known everything. */
export function admitPod(pod: Pod, room: NodeRoom): Rejection | undefined {
  const { spec } = pod;
  if (spec.os && spec.os.name !== "linux") {
    return { reason: "PodOSNotSupported", message: "Failed to admit pod as the OS field doesn't match node OS" };
  }
  if (spec.securityContext.supplementalGroupsPolicy === "Strict" && room.features?.supplementalGroupsPolicy === false) {
    const message = "SupplementalGroupsPolicy=Strict is not supported in this node";
    return { reason: "SupplementalGroupsPolicyNotSupported", message };
  }
  if (room.features?.appArmor === false && wantsAppArmor(pod)) {
    return { reason: "AppArmor", message: "Cannot enforce AppArmor: AppArmor is not enabled on the host" };
  }
  for (const { name } of spec.securityContext.sysctls ?? []) {
    if (!isSafeSysctl(name) && !isListed(name, room.unsafeSysctls ?? []))
      return { reason: "SysctlForbidden", message: `forbidden sysctl: "${name}" not allowlisted` };
  }
  return (
    findShortage(pod, room) ?? placeRejection(pod, room.node) ?? portRejection(pod, room) ?? taintRejection(pod, room)
  );
}

/** A container without a profile, or with an Unconfined one, runs anywhere. */
function wantsAppArmor({ spec }: Pod): boolean {
  const own = allContainers(spec).map(({ securityContext }) => securityContext?.appArmorProfile);
  return own.some((profile) => {
    const { type = "Unconfined" } = profile ?? spec.securityContext.appArmorProfile ?? {};
    return type !== "Unconfined";
  });
}

const failed = (reason: string, message: string): Rejection => ({
  reason,
  message: `Predicate ${reason} failed: ${message}`,
});

/** Somebody may have bound the pod to a node that its selector or affinity excludes. */
function placeRejection(pod: Pod, node: Node | undefined): Rejection | undefined {
  if (!node || matchesRequired(pod, node)) return undefined;
  return failed("NodeAffinity", "node(s) didn't match Pod's node affinity/selector");
}

function portRejection(pod: Pod, { others }: NodeRoom): Rejection | undefined {
  if (!hasPortConflict(pod, others)) return undefined;
  return failed("NodePorts", "node(s) didn't have free ports for the requested pod ports");
}

/** Only taints that would also evict the pod count, and not for static pods. */
function taintRejection(pod: Pod, { node }: NodeRoom): Rejection | undefined {
  const taints = (node?.spec?.taints ?? []).filter(({ effect }) => effect === "NoExecute");
  if (isStaticPod(pod) || taints.every((taint) => tolerates(pod.spec.tolerations, taint))) return undefined;
  return failed("TaintToleration", "node(s) had taints that the pod didn't tolerate");
}

/** Whether a newer version of the Node may lead to another verdict: what is known of it may be late. */
export function isWorthASecondLook(pod: Pod, node: Node | undefined, verdict: Rejection | undefined): boolean {
  if (verdict) return verdict.reason === "NodeAffinity" || verdict.reason === "TaintToleration";
  return node === undefined && (pod.spec.nodeSelector !== undefined || pod.spec.affinity?.nodeAffinity !== undefined);
}

/** Sysctls that affect only the pod and cannot harm the node. */
const safeSysctls = new Set([
  "kernel.shm_rmid_forced",
  "net.ipv4.ip_local_port_range",
  "net.ipv4.tcp_syncookies",
  "net.ipv4.ping_group_range",
  "net.ipv4.ip_unprivileged_port_start",
  "net.ipv4.ip_local_reserved_ports",
  "net.ipv4.tcp_keepalive_time",
  "net.ipv4.tcp_fin_timeout",
  "net.ipv4.tcp_keepalive_intvl",
  "net.ipv4.tcp_keepalive_probes",
  "net.ipv4.tcp_rmem",
  "net.ipv4.tcp_wmem",
]);
const isSafeSysctl = (name: string): boolean => safeSysctls.has(name.replaceAll("/", "."));

function isListed(name: string, listed: readonly string[]): boolean {
  const dotted = name.replaceAll("/", ".");
  return listed.some((one) => (one.endsWith("*") ? dotted.startsWith(one.slice(0, -1)) : dotted === one));
}

function hasPortConflict(pod: Pod, others: readonly Pod[]): boolean {
  const wanted = hostPorts(pod);
  if (wanted.length === 0) return false;
  const taken = new Set(others.flatMap(hostPorts));
  return isAnyPortTaken(wanted, taken);
}

const measure = (name: string) => (name === "cpu" ? quantityMilliValue : quantityValue);

function findShortage(pod: Pod, { allocatable, others }: NodeRoom): Rejection | undefined {
  const capacity = quantityValue(allocatable.pods ?? "0");
  if (others.length + 1 > capacity) return shortage("pods", { requested: 1, used: others.length, capacity });
  const requests = podRequests(pod.spec);
  for (const [name, amount] of Object.entries(requests)) {
    const requested = measure(name)(amount);
    // An extended resource that this node does not offer is not checked here.
    if (requested === 0 || (isDeviceResource(name) && allocatable[name] === undefined)) continue;
    // Nor what a claim provides because the node has none.
    if (quantityValue(allocatable[name] ?? "0") === 0 && comesFromClaim(pod.status, name)) continue;
    const used = others.reduce((sum, other) => sum + measure(name)(podRequests(other.spec)[name] ?? "0"), 0);
    const there = measure(name)(allocatable[name] ?? "0");
    if (requested + used > there) return shortage(name, { requested, used, capacity: there });
  }
  return undefined;
}

interface Counts {
  readonly requested: number;
  readonly used: number;
  readonly capacity: number;
}
const shortage = (name: string, { requested, used, capacity }: Counts): Rejection => ({
  reason: `OutOf${name}`,
  message: `Node didn't have enough resource: ${name}, requested: ${requested}, used: ${used}, capacity: ${capacity}`,
});

/** Whether a running pod can be resized: yes, not now, or never. */
export function admitResize(pod: Pod, room: NodeRoom): Rejection | undefined {
  if (room.fixedBy !== undefined && qosClassOf(pod.spec) === "Guaranteed") {
    return { reason: "Infeasible", message: `Resize is infeasible for Guaranteed Pods alongside ${room.fixedBy}` };
  }
  for (const [name, amount] of Object.entries(podRequests(pod.spec))) {
    const requested = measure(name)(amount);
    const capacity = measure(name)(room.allocatable[name] ?? "0");
    if ((name === "cpu" || name === "memory") && requested > capacity) {
      const message = `Node didn't have enough capacity: ${name}, requested: ${requested}, capacity: ${capacity}`;
      return { reason: "Infeasible", message };
    }
  }
  const fault = findShortage(pod, room);
  return fault && { reason: "Deferred", message: fault.message };
}
