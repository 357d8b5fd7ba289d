import { type Rejection } from "./framework.ts";

/** Which plugin rejected a node, and why. */
export interface PluginRejection extends Rejection {
  readonly plugin: string;
}
export type Rejections = ReadonlyMap<string, PluginRejection>;

/** Nodes that were not evaluated, because plugins named others. */
export interface LeftOut {
  readonly count: number;
  /** The plugins that named others. */
  readonly plugins: readonly string[];
}

export const noNodes = "no nodes available to schedule pods";

/** `0/3 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable.` */
export function explainRejections(
  rejections: ReadonlyMap<string, Rejection>,
  total: number,
  leftOut?: LeftOut,
): string {
  if (total === 0) return noNodes;
  const counts = new Map<string, number>();
  for (const { reasons } of rejections.values()) {
    for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  if (leftOut && leftOut.count > 0) {
    counts.set(`node(s) didn't satisfy plugin(s) [${leftOut.plugins.toSorted().join(" ")}]`, leftOut.count);
  }
  return explainCounts(counts, total);
}

/** The same from reasons and for how many nodes they hold. */
export function explainCounts(counts: ReadonlyMap<string, number>, total: number): string {
  const parts = Array.from(counts, ([reason, count]) => `${count} ${reason}`).sort();
  return explainRefusal(parts.join(", "), total);
}

/** The pod was refused before any node was evaluated. */
export const explainRefusal = (reason: string, total: number): string =>
  reason ? `0/${total} nodes are available: ${reason}.` : `0/${total} nodes are available:`;
