import { type ResourceList } from "#api/core/container/resource-list.ts";
import { compareQuantities, subtractQuantities } from "#api/meta/quantity.ts";
import { own } from "#lib/data/own.ts";

export interface UsageFacts {
  /** The limits of the quota. */
  readonly hard: ResourceList;
  /** What the quota says is used: the objects, and what the API server has charged for writes that are under way. */
  readonly used: ResourceList;
  /** What the objects use. Limits of kinds that do not exist are absent. */
  readonly counted: ResourceList;
  /** By how much that has decreased, in total, since it was last written. */
  readonly released: ResourceList;
  /** No charge can be under way. */
  readonly isQuiet: boolean;
}

/**
 * The next `status.used`. While writes may be under way, only what was released is subtracted: to write what the
 * objects use would take back the charges of those that do not exist yet, and let others take their place.
 */
export function planUsed({ hard, used, counted, released, isQuiet }: UsageFacts): ResourceList {
  const next: ResourceList = {};
  for (const name of Object.keys(hard)) {
    const before = own(used, name);
    const now = own(counted, name);
    if (now === undefined) {
      if (before !== undefined) next[name] = before;
    } else if (isQuiet || before === undefined) next[name] = now;
    else next[name] = larger(now, subtractQuantities(before, own(released, name) ?? "0"));
  }
  return next;
}

const larger = (a: string, b: string): string => (compareQuantities(a, b) > 0 ? a : b);
