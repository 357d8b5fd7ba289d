import { Node } from "#api/core/node.ts";
import { isFinished } from "#api/core/pod/pod-state.ts";
import { Pod } from "#api/core/pod.ts";
import { isConditionTrue } from "#api/meta/condition.ts";
import { ignoreNotFound } from "#api/status.ts";
import { outOfServiceTaint } from "#api/well-known.ts";
import { objectKey } from "#runtime/object-cache.ts";
import { type Again, againAfter, type Reconciler, type ReconcilerDeps, watch } from "#runtime/reconciler.ts";
import { disruptPod } from "./node/disrupt-pod.ts";

const defaultThreshold = 12_500;
/** A missing node may only be registering again. */
const quarantineMs = 40_000;

/** Deletes pods that nobody else will: of missing nodes, without a node, or finished long ago. */
export const podGcController =
  (threshold = defaultThreshold) =>
  (deps: ReconcilerDeps): Reconciler<Pod> => {
    const pods = deps.informers.of(Pod);
    const nodes = deps.informers.of(Node);
    const missing = new MissingNodes(deps);
    const finished = new Map<string, Pod>();
    return {
      name: "pod-garbage-collector",
      reconciles: Pod,
      // Nothing is to be done about other pods, and every change of every pod comes by here.
      concerns: (pod) =>
        isFinished(pod) ||
        pod.metadata.deletionTimestamp !== undefined ||
        (pod.spec.nodeName !== undefined && !nodes.get({ name: pod.spec.nodeName })) ||
        (finished.size > 0 && finished.has(objectKey(pod.metadata.namespace, pod.metadata.name))),
      watches: [
        watch(Node, (change) => {
          const { name } = change.object.metadata;
          if (change.type === "put") missing.found(name);
          if (change.type === "put" && !isOutOfService(change.object)) return [];
          return pods.by("node", name).map(({ metadata }) => metadata);
        }),
      ],

      async reconcile(pod, signal) {
        const key = objectKey(pod.metadata.namespace, pod.metadata.name);
        if (isFinished(pod)) finished.set(key, pod);
        else finished.delete(key);
        const { nodeName } = pod.spec;
        const node = nodeName ? nodes.get({ name: nodeName }) : undefined;
        if (nodeName && !node) return await missing.check(pod, nodeName, signal);
        if (pod.metadata.deletionTimestamp && (!node || isOutOfService(node))) {
          await disruptPod(deps, { pod, isForced: true }, signal);
          return undefined;
        }
        for (const old of finished.size > threshold ? surplus([...finished.values()], threshold) : []) {
          finished.delete(objectKey(old.metadata.namespace, old.metadata.name));
          await disruptPod(deps, { pod: old, isForced: true }, signal);
        }
        return undefined;
      },
      async gone({ namespace, name }) {
        finished.delete(objectKey(namespace, name));
      },
    };
  };

/** Its administrator has marked it as permanently gone. */
const isOutOfService = ({ spec, status }: Node): boolean =>
  !isConditionTrue(status.conditions, "Ready") && (spec.taints?.some(({ key }) => key === outOfServiceTaint) ?? false);

/** Finished pods beyond the threshold: evicted ones first, then the oldest. */
export function surplus(finished: readonly Pod[], threshold: number): Pod[] {
  if (threshold <= 0) return [];
  const isEvicted = ({ status }: Pod): number => (status.phase === "Failed" && status.reason === "Evicted" ? 0 : 1);
  const ageOf = ({ metadata }: Pod): string => `${metadata.creationTimestamp} ${metadata.name}`;
  const sorted = finished.toSorted((a, b) => isEvicted(a) - isEvicted(b) || (ageOf(a) < ageOf(b) ? -1 : 1));
  return sorted.slice(0, Math.max(0, finished.length - threshold));
}

/** Missing nodes that pods refer to, and since when they are missing. */
class MissingNodes {
  readonly #deps: ReconcilerDeps;
  readonly #sinceMs = new Map<string, number>();

  constructor(deps: ReconcilerDeps) {
    this.#deps = deps;
  }

  /** The node exists; if it disappears again, its time starts again. */
  found(name: string): void {
    this.#sinceMs.delete(name);
  }

  async check(pod: Pod, nodeName: string, signal: AbortSignal): Promise<Again | undefined> {
    const now = this.#deps.clock.now();
    const since = this.#sinceMs.get(nodeName) ?? now;
    this.#sinceMs.set(nodeName, since);
    if (now - since < quarantineMs) return againAfter(quarantineMs - (now - since));
    if (await this.#exists(nodeName, signal)) {
      this.found(nodeName);
      return undefined;
    }
    const reason = "DeletionByPodGC";
    const message = "PodGC: node no longer exists";
    await disruptPod(this.#deps, { pod, reason, message, isForced: true }, signal);
    return undefined;
  }

  async #exists(name: string, signal: AbortSignal): Promise<boolean> {
    return (await this.#deps.client.get(Node, { name }, { signal }).catch(ignoreNotFound)) !== undefined;
  }
}
