import { type Node } from "#api/core/node.ts";
import { type Service } from "#api/core/service.ts";
import { type Change, type Informer } from "#runtime/informer.ts";
import { type Wake } from "#runtime/reconciler.ts";
import { wantsZoneHints, type ZoneShares, zoneCapacityOf, zoneSharesOf } from "./zone-hints.ts";

/** The shares of the zones, computed when a service needs them after the nodes have changed. */
export class NodeShares {
  readonly #nodes: Informer<Node>;
  readonly #services: Informer<Service>;
  #known: { readonly shares: ZoneShares } | undefined;

  constructor(nodes: Informer<Node>, services: Informer<Service>) {
    this.#nodes = nodes;
    this.#services = services;
  }

  now(): ZoneShares {
    this.#known ??= { shares: zoneSharesOf(this.#nodes.list()) };
    return this.#known.shares;
  }

  /** The services whose hints may change with a node. Nodes report often, but rarely change in this. */
  affectedBy(change: Change<Node>): Wake[] {
    const before = change.type === "put" ? change.previous : undefined;
    if (before && zoneCapacityOf(before) === zoneCapacityOf(change.object)) return [];
    this.#known = undefined;
    return this.#services.list().flatMap((service) => (wantsZoneHints(service) ? service.metadata : []));
  }
}
