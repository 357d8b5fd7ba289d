import { Node, type Taint } from "#api/core/node.ts";
import { toleratesTaint } from "#api/core/pod/tolerations.ts";
import { Pod } from "#api/core/pod.ts";
import { referenceTo } from "#client/events.ts";
import { equal } from "#lib/data/equal.ts";
import { type Informer } from "#runtime/informer.ts";
import { objectKey } from "#runtime/object-cache.ts";
import { againAfter, type Reconciler, type ReconcilerDeps, watch } from "#runtime/reconciler.ts";
import { disruptPod } from "./disrupt-pod.ts";

/** Deletes pods from nodes with NoExecute taints once they no longer tolerate them. */
export function taintEvictionController(deps: ReconcilerDeps): Reconciler<Pod> {
  const { informers, clock, events } = deps;
  const pods = informers.of(Pod);
  const nodes = informers.of(Node);
  /** Pods with a planned eviction, and since when: to report a cancellation, and for taints without a time. */
  const planned = new Map<string, number>();
  return {
    name: "taint-eviction",
    reconciles: Pod,
    // Other pods wait for a change of their node.
    concerns: (pod) => isOnTainted(nodes, pod) || (planned.size > 0 && planned.has(keyOf(pod))),
    watches: [
      watch(Node, (change) => {
        const before = change.type === "put" ? change.previous : undefined;
        if (equal(noExecute(change.object), before ? noExecute(before) : [])) return [];
        return pods.by("node", change.object.metadata.name).map(({ metadata }) => metadata);
      }),
    ],

    async reconcile(pod, signal) {
      const { nodeName } = pod.spec;
      const node = nodeName && !pod.metadata.deletionTimestamp ? nodes.get({ name: nodeName }) : undefined;
      const { namespace, name } = pod.metadata;
      const key = keyOf(pod);
      const about = referenceTo(Pod, pod);
      const sinceMs = planned.get(key) ?? clock.now();
      const dueMs = node ? planEviction(pod, noExecute(node), { nowMs: clock.now(), sinceMs }) : undefined;
      if (dueMs === undefined) {
        if (planned.delete(key) && !pod.metadata.deletionTimestamp) {
          events.event(about, "Normal", "TaintManagerEviction", `Cancelling deletion of Pod ${namespace}/${name}`);
        }
        return undefined;
      }
      // Kept until the pod is deleted: a failed attempt must not begin the toleration again.
      planned.set(key, sinceMs);
      if (dueMs > clock.now()) return againAfter(dueMs - clock.now());
      events.event(about, "Normal", "TaintManagerEviction", `Marking for deletion Pod ${namespace}/${name}`);
      const reason = "DeletionByTaintManager";
      await disruptPod(deps, { pod, reason, message: "Taint manager: deleting due to NoExecute taint" }, signal);
      planned.delete(key);
      return undefined;
    },
    async gone({ namespace, name }) {
      planned.delete(objectKey(namespace, name));
    },
  };
}

const noExecute = ({ spec }: Node): Taint[] => (spec.taints ?? []).filter(({ effect }) => effect === "NoExecute");

const keyOf = ({ metadata: { namespace, name } }: Pod): string => objectKey(namespace, name);

function isOnTainted(nodes: Informer<Node>, { spec: { nodeName } }: Pod): boolean {
  const node = nodeName ? nodes.get({ name: nodeName }) : undefined;
  return node?.spec.taints?.some(({ effect }) => effect === "NoExecute") ?? false;
}

export interface EvictionTimes {
  readonly nowMs: number;
  /** When the pod was first seen with its node's taints, because those from kubectl have no time. */
  readonly sinceMs: number;
}

/** When the pod must be evicted because of these taints; undefined if it may stay. */
export function planEviction(
  { metadata, spec, status }: Pod,
  taints: readonly Taint[],
  { nowMs, sinceMs }: EvictionTimes,
): number | undefined {
  const startMs = Date.parse(status.startTime ?? metadata.creationTimestamp) || 0;
  let due: number | undefined;
  for (const taint of taints) {
    const matching = (spec.tolerations ?? []).filter((toleration) => toleratesTaint(toleration, taint));
    if (matching.length === 0) return nowMs;
    const limits = matching.flatMap(({ tolerationSeconds }) => tolerationSeconds ?? []);
    if (limits.length === 0) continue;
    const fromMs = taint.timeAdded ? Math.max(Date.parse(taint.timeAdded), startMs) : sinceMs;
    const at = fromMs + Math.max(0, Math.min(...limits)) * 1000;
    due = Math.min(due ?? at, at);
  }
  return due;
}
