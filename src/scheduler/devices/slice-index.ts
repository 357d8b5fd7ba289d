import { type Node } from "#api/core/node.ts";
import { type ResourceSlice } from "#api/devices/resource-slice.ts";
import { type Change } from "#runtime/informer.ts";
import { gatherPools, type Pool, type PoolFacts, poolFacts, poolKey } from "./search/pool.ts";

interface KnownPool {
  readonly slices: Map<string, ResourceSlice>;
  facts: PoolFacts | undefined;
}

/** All slices: by node if they name one, and by pool. Tells which nodes a change is about. */
export class SliceIndex {
  readonly #byNode = new Map<string, Map<string, ResourceSlice>>();
  readonly #shared = new Map<string, ResourceSlice>();
  readonly #pools = new Map<string, KnownPool>();

  /** Slices that do not name a node. */
  get shared(): Iterable<ResourceSlice> {
    return this.#shared.values();
  }

  hasOwn(node: string): boolean {
    return this.#byNode.has(node);
  }

  /** How many devices `poolsOf` looks at. */
  devicesNear({ metadata }: Node): number {
    const own = this.#byNode.get(metadata.name)?.values() ?? [];
    return [...own, ...this.#shared.values()].reduce((sum, { spec }) => sum + 1 + (spec.devices?.length ?? 0), 0);
  }

  poolsOf(node: Node): Pool[] {
    const own = this.#byNode.get(node.metadata.name)?.values() ?? [];
    return gatherPools(node, { near: [...own, ...this.#shared.values()], factsOf: (key) => this.#factsOf(key) });
  }

  /** The nodes that the slices of a pool name; undefined if a slice of it is for several nodes. */
  nodesOf(pool: string): ReadonlySet<string> | undefined {
    const nodes = new Set<string>();
    for (const { spec } of this.#pools.get(pool)?.slices.values() ?? []) {
      if (!spec.nodeName) return undefined;
      nodes.add(spec.nodeName);
    }
    return nodes;
  }

  /** Returns the nodes whose devices may have changed; undefined if it may be all of them. */
  apply(change: Change<ResourceSlice>): ReadonlySet<string> | undefined {
    const { object } = change;
    const { name } = object.metadata;
    const key = poolKey(object.spec.driver, object.spec.pool.name);
    const before = this.nodesOf(key);
    const near = object.spec.nodeName ? bucket(this.#byNode, object.spec.nodeName) : this.#shared;
    const pool = this.#pools.get(key) ?? { slices: new Map(), facts: undefined };
    pool.facts = undefined;
    if (change.type === "put") {
      near.set(name, object);
      pool.slices.set(name, object);
      this.#pools.set(key, pool);
    } else {
      near.delete(name);
      pool.slices.delete(name);
      if (near !== this.#shared && near.size === 0) this.#byNode.delete(object.spec.nodeName ?? "");
      if (pool.slices.size === 0) this.#pools.delete(key);
    }
    const after = this.nodesOf(key);
    return before && after && before.union(after);
  }

  #factsOf(key: string): PoolFacts {
    const pool = this.#pools.get(key);
    if (!pool) return poolFacts([]);
    pool.facts ??= poolFacts([...pool.slices.values()]);
    return pool.facts;
  }
}

function bucket<V>(map: Map<string, Map<string, V>>, key: string): Map<string, V> {
  const known = map.get(key) ?? new Map<string, V>();
  map.set(key, known);
  return known;
}
