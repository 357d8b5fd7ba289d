import { type DaemonSet } from "#api/apps/daemon-set.ts";
import { type Clock } from "#lib/async/clock.ts";
import { objectKey } from "#runtime/object-cache.ts";
import { type DaemonPlan } from "./plan-nodes.ts";

const firstDelayMs = 1000;
const longestDelayMs = 15 * 60_000;

interface Record {
  untilMs: number;
  delayMs: number;
}

/**
 * Delays the replacement of a pod that failed, longer each time, so that a pod that fails at once is not created again
 * and again. A restarted controller begins with the shortest delay.
 */
export class FailedPods {
  readonly #clock: Clock;
  readonly #records = new Map<string, Map<string, Record>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The plan without the failed pods that have to wait, and for how long. */
  delay(set: DaemonSet, plan: DaemonPlan): { readonly plan: DaemonPlan; readonly waitMs: number } {
    const failed = plan.ended.filter(({ status }) => status.phase === "Failed");
    if (failed.length === 0) return { plan, waitMs: Infinity };
    const key = objectKey(set.metadata.namespace, set.metadata.name);
    const nodes = this.#records.get(key) ?? new Map<string, Record>();
    this.#records.set(key, nodes);
    const nowMs = this.#clock.now();
    let waitMs = Infinity;
    const waiting = new Set(
      failed.filter(({ spec }) => {
        const leftMs = this.#left(nodes, spec.nodeName ?? "", nowMs);
        if (leftMs > 0) waitMs = Math.min(waitMs, leftMs);
        return leftMs > 0;
      }),
    );
    const isDue = (pod: (typeof failed)[number]): boolean => !waiting.has(pod);
    return { plan: { ...plan, remove: plan.remove.filter(isDue), ended: plan.ended.filter(isDue) }, waitMs };
  }

  /** How long the next pod of this node has to wait. If it need not, the one after it waits longer. */
  #left(nodes: Map<string, Record>, node: string, nowMs: number): number {
    const known = nodes.get(node);
    if (known && known.untilMs > nowMs) return known.untilMs - nowMs;
    // A node whose pod has run for long starts again with the shortest delay.
    const isFresh = !known || nowMs - known.untilMs > 2 * longestDelayMs;
    const delayMs = isFresh ? firstDelayMs : Math.min(known.delayMs * 2, longestDelayMs);
    nodes.set(node, { delayMs, untilMs: nowMs + delayMs });
    return 0;
  }

  forget({ namespace, name }: { readonly namespace: string; readonly name: string }): void {
    this.#records.delete(objectKey(namespace, name));
  }
}
