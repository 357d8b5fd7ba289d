import { type Node } from "#api/core/node.ts";
import { type Change } from "#runtime/informer.ts";
import { isCounted, isNodeReady, type ZoneCount, zoneOf } from "./plan-node-health.ts";

type Counts = { -readonly [key in keyof ZoneCount]: number };
const none: ZoneCount = { total: 0, failed: 0 };

/** The nodes of each zone, counted as they change, so that a node that fails does not cost a walk over all of them. */
export class ZoneCounts {
  readonly #zones = new Map<string, Counts>();
  readonly #all: Counts = { total: 0, failed: 0 };

  get all(): ZoneCount {
    return this.#all;
  }
  in(zone: string): ZoneCount {
    return this.#zones.get(zone) ?? none;
  }

  note(change: Change<Node>): void {
    if (change.type === "delete") return this.#add(change.object, -1);
    if (change.previous) this.#add(change.previous, -1);
    this.#add(change.object, 1);
  }

  #add(node: Node, by: 1 | -1): void {
    if (!isCounted(node)) return;
    const zone = zoneOf(node);
    const counts = this.#zones.get(zone) ?? { total: 0, failed: 0 };
    const failed = isNodeReady(node) ? 0 : by;
    for (const sum of [counts, this.#all]) {
      sum.total += by;
      sum.failed += failed;
    }
    if (counts.total > 0) this.#zones.set(zone, counts);
    else this.#zones.delete(zone);
  }
}
