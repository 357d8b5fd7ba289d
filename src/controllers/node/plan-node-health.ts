import { type Node, type NodeCondition, type Taint } from "#api/core/node.ts";
import { findCondition, isConditionTrue } from "#api/meta/condition.ts";
import { notReadyTaint, regionLabel, unreachableTaint, unschedulableTaint, zoneLabel } from "#api/well-known.ts";
import { timestamp } from "#lib/async/clock.ts";
import { own } from "#lib/data/own.ts";

/** The taint for a condition with a status. */
const taintKeys: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Ready: { False: notReadyTaint, Unknown: unreachableTaint },
  MemoryPressure: { True: "node.kubernetes.io/memory-pressure" },
  DiskPressure: { True: "node.kubernetes.io/disk-pressure" },
  NetworkUnavailable: { True: "node.kubernetes.io/network-unavailable" },
  PIDPressure: { True: "node.kubernetes.io/pid-pressure" },
};
const ownKeys = new Set([unschedulableTaint, ...Object.values(taintKeys).flatMap((keys) => Object.values(keys))]);
const evictingKeys = new Set([notReadyTaint, unreachableTaint]);

export const readyOf = ({ status }: Node): string | undefined => findCondition(status.conditions, "Ready")?.status;
export const isNodeReady = ({ status }: Node): boolean => isConditionTrue(status.conditions, "Ready");

/** Conditions that only the kubelet knows; they become unknown when it stops reporting. */
const kubeletConditions = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];

/** The conditions of a node whose kubelet has not reported for too long. */
export function silentConditions({ metadata, status }: Node, nowMs: number): NodeCondition[] {
  const conditions = [...(status.conditions ?? [])];
  const now = timestamp(nowMs);
  for (const type of kubeletConditions) {
    const index = conditions.findIndex((condition) => condition.type === type);
    const current = conditions[index];
    if (!current) {
      conditions.push({
        type,
        status: "Unknown",
        reason: "NodeStatusNeverUpdated",
        message: "Kubelet never posted node status.",
        lastHeartbeatTime: metadata.creationTimestamp ?? now,
        lastTransitionTime: now,
      });
    } else if (current.status !== "Unknown") {
      conditions[index] = {
        ...current,
        status: "Unknown",
        reason: "NodeStatusUnknown",
        message: "Kubelet stopped posting node status.",
        lastTransitionTime: now,
      };
    }
  }
  return conditions;
}

/** Whether pods are evicted from a node that is not ready. Evictions that have begun go on. */
export type Eviction = "evict" | "wait" | "never";

/** The taints that the node should have; the same list if it has them. */
export function planTaints(node: Node, eviction: Eviction, nowMs: number): readonly Taint[] {
  const { taints: current = [], unschedulable } = node.spec;
  const wanted = (node.status.conditions ?? []).flatMap(({ type, status }) => own(own(taintKeys, type), status) ?? []);
  if (unschedulable) wanted.push(unschedulableTaint);
  const evicting = evictingTaint(node, eviction);
  const isKept = ({ key, effect }: Taint): boolean => {
    if (effect === "NoSchedule" && ownKeys.has(key)) return wanted.includes(key);
    return effect === "NoExecute" && evictingKeys.has(key) ? key === evicting : true;
  };
  const kept = current.filter(isKept);
  const has = (key: string, effect: string) => kept.some((taint) => taint.key === key && taint.effect === effect);
  const timeAdded = timestamp(nowMs);
  const added: Taint[] = wanted
    .filter((key) => !has(key, "NoSchedule"))
    .map((key) => ({ key, effect: "NoSchedule", timeAdded }));
  if (evicting && !has(evicting, "NoExecute")) added.push({ key: evicting, effect: "NoExecute", timeAdded });
  return added.length === 0 && kept.length === current.length ? current : [...kept, ...added];
}

function evictingTaint(node: Node, eviction: Eviction): string | undefined {
  const key = taintKeys.Ready?.[readyOf(node) ?? ""];
  if (!key || eviction === "never") return undefined;
  return eviction === "evict" || isEvicting(node) ? key : undefined;
}

/** Its pods are being evicted. */
export const isEvicting = ({ spec }: Node): boolean =>
  spec.taints?.some(({ key, effect }) => effect === "NoExecute" && evictingKeys.has(key)) ?? false;

/** Region and zone. */
export const zoneOf = ({ metadata: { labels = {} } }: Node): string =>
  `${labels[regionLabel] ?? ""}:${labels[zoneLabel] ?? ""}`;

/** How the health of nodes is judged, and how fast pods are evicted. */
export interface NodeLifecycleOptions {
  /** A node that has not reported for this long is unknown; 50 s by default. */
  readonly graceMs?: number;
  /** The same for a node that has never reported; 60 s by default. */
  readonly startupGraceMs?: number;
  /** How many nodes of a zone begin to lose their pods per second; 0.1 by default. */
  readonly evictionRate?: number;
  /** The same if many nodes of a large zone are not ready; 0.01 by default. */
  readonly secondaryEvictionRate?: number;
  /** The share of nodes that are not ready from which a zone counts as disrupted; 0.55 by default. */
  readonly unhealthyZoneThreshold?: number;
  /** Zones with more nodes are large; 50 by default. A small zone that is disrupted loses no pods. */
  readonly largeClusterSizeThreshold?: number;
}

/** How many nodes of a zone there are, without those that do not count. */
export interface ZoneCount {
  readonly total: number;
  readonly failed: number;
}

/** A zone in which nothing is wrong, a part, or everything. */
export function zoneState({ total, failed }: ZoneCount, threshold: number): "normal" | "partial" | "full" {
  if (total > 0 && failed === total) return "full";
  return failed > 2 && failed / total >= threshold ? "partial" : "normal";
}

/**
 * How many nodes of the zone may begin to lose their pods per second. If many fail together, the cause is probably
 * elsewhere; if all nodes of all zones fail, it is probably on our side, and no pod is evicted.
 */
export function planEvictionRate(
  zone: ZoneCount,
  all: ZoneCount,
  { evictionRate = 0.1, secondaryEvictionRate = 0.01, ...limits }: NodeLifecycleOptions = {},
): number {
  const { unhealthyZoneThreshold = 0.55, largeClusterSizeThreshold = 50 } = limits;
  if (all.total > 0 && all.failed === all.total) return 0;
  if (zoneState(zone, unhealthyZoneThreshold) !== "partial") return evictionRate;
  return zone.total > largeClusterSizeThreshold ? secondaryEvictionRate : 0;
}

/** Whether a node tells something about the health of its zone. */
export const isCounted = ({ metadata }: Node): boolean =>
  metadata.labels?.["node.kubernetes.io/exclude-disruption"] === undefined;
