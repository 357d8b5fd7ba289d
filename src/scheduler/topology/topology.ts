import { type Node } from "#api/core/node.ts";
import { type Pod } from "#api/core/pod.ts";
import { LruMap } from "#lib/data/lru-map.ts";
import { type NodeInfo } from "../snapshot.ts";
import { DomainSums } from "./domain-sums.ts";
import { Domains } from "./domains.ts";
import { type Holder, Holders } from "./holders.ts";

/** A set of pods that is counted on each node. */
export interface PodSet {
  /** Equal for equal sets. */
  readonly key: string;
  /** Whether the set depends on the labels of namespaces. */
  readonly selectsNamespaces?: boolean;
  has(pod: Pod): boolean;
}

interface Counted {
  readonly set: PodSet;
  counts: Int32Array;
  /** Label of nodes → the same by domain. */
  readonly sums: Map<string, DomainSums>;
}

interface Supposed {
  readonly pod: Pod;
  readonly slot: number;
  readonly sign: 1 | -1;
}

const maxSets = 256;
const maxDomains = 64;
const maxNodeSets = 64;
/** Labels by which one set is summed up. */
const maxSums = 4;
/** The sums of a term are kept if it is worth it. */
const maxDomainsPerPod = 8;
/** And for so many others, the last ones that were asked for. */
const maxSummed = 32;
/** Sets with a longer key are computed each time, because the keys are texts of users. */
const maxKeyChars = 64 << 10;

/**
 * What plugins need to know about pods on other nodes. Users name the sets of pods and the labels, so the least recently
 * used ones are dropped. What is kept is updated with every pod and never counted again.
 */
export class Topology {
  readonly holders = new Holders();
  readonly #nodes: () => Iterable<NodeInfo>;
  #domains = new LruMap<string, Domains>(maxDomains);
  readonly #sets = new LruMap<string, Counted>(maxSets);
  #nodeSets = new LruMap<string, Uint8Array>(maxNodeSets);
  readonly #summed = new Set<Holder>();
  /** What is only supposed, so that sets that are counted meanwhile agree with those that are kept. */
  readonly #supposed = new Set<Supposed>();

  constructor(nodes: () => Iterable<NodeInfo>) {
    this.#nodes = nodes;
  }

  domains(key: string): Domains {
    let domains = this.#domains.get(key);
    if (!domains) {
      domains = new Domains(key, this.#nodes());
      this.#domains.set(key, domains);
    }
    return domains;
  }

  /** Slot → how many pods of the set are on the node. Slots beyond its end have none. */
  counts(set: PodSet): Int32Array {
    return this.#counted(set).counts;
  }

  /** How many pods of the set are in each domain. */
  sums(set: PodSet, key: string): DomainSums {
    const { counts, sums } = this.#counted(set);
    const domains = this.domains(key);
    let known = sums.get(key);
    if (!known?.isOf(domains)) {
      known = new DomainSums(domains);
      for (let slot = 0; slot < counts.length; slot++) known.add(slot, counts[slot] ?? 0);
      if (sums.size >= maxSums) sums.clear();
      sums.set(key, known);
    }
    return known;
  }

  /** How many of the pods that have a term are in each domain of its label. */
  sumsOf(holder: Holder): DomainSums {
    const domains = this.domains(holder.term.topologyKey);
    if (holder.sums?.isOf(domains)) return holder.sums;
    const sums = sumOf([holder], domains);
    holder.sums = sums;
    // There may be thousands of terms with a few pods each, which are quickly added up again.
    if (domains.size > maxDomainsPerPod * holder.counts.size) this.#keepForNow(holder);
    return sums;
  }

  /** The same for all pods that have one of these terms, which share a label. */
  sumsOfAll(holders: readonly Holder[], key: string): DomainSums {
    const [first] = holders;
    return first && holders.length === 1 ? this.sumsOf(first) : sumOf(holders, this.domains(key));
  }

  #keepForNow(holder: Holder): void {
    this.#summed.delete(holder);
    this.#summed.add(holder);
    if (this.#summed.size <= maxSummed) return;
    for (const oldest of this.#summed) {
      this.#summed.delete(oldest);
      delete oldest.sums;
      return;
    }
  }

  #counted(set: PodSet): Counted {
    let counted = this.#sets.get(set.key);
    if (!counted) {
      counted = { set, counts: new Int32Array(0), sums: new Map() };
      for (const info of this.#nodes()) for (const pod of info.pods.values()) count(counted, info.slot, pod, 1);
      for (const { pod, slot, sign } of this.#supposed) count(counted, slot, pod, sign);
      if (set.key.length <= maxKeyChars) this.#sets.set(set.key, counted);
    }
    return counted;
  }

  /** Slot → 1 if the node belongs to the set. */
  nodesIn(key: string, has: (node: Node) => boolean): Uint8Array {
    let nodes = this.#nodeSets.get(key);
    if (!nodes) {
      let slots = 0;
      for (const { slot } of this.#nodes()) slots = Math.max(slots, slot + 1);
      nodes = new Uint8Array(slots);
      for (const { slot, node } of this.#nodes()) nodes[slot] = node && has(node) ? 1 : 0;
      if (key.length <= maxKeyChars) this.#nodeSets.set(key, nodes);
    }
    return nodes;
  }

  /** Counts a pod that is not on the node, or leaves one out that is. Returns how to end that. */
  suppose(pod: Pod, info: NodeInfo, sign: 1 | -1): () => void {
    const supposed = { pod, slot: info.slot, sign };
    this.#supposed.add(supposed);
    this.podChanged(pod, info, sign);
    return () => {
      this.#supposed.delete(supposed);
      this.podChanged(pod, info, sign === 1 ? -1 : 1);
    };
  }

  podChanged(pod: Pod, { slot }: NodeInfo, sign: 1 | -1): void {
    this.holders.add(pod, slot, sign);
    for (const counted of this.#sets.values()) count(counted, slot, pod, sign);
  }

  nodeChanged(info: NodeInfo): void {
    this.#nodeSets = new LruMap(maxNodeSets);
    // The values of nodes that are gone are forgotten with the numbers of the domains.
    if (!info.node) this.#domains = new LruMap(maxDomains);
    else for (const domains of this.#domains.values()) domains.set(info);
  }

  namespacesChanged(): void {
    this.holders.forget();
    for (const { set } of [...this.#sets.values()]) if (set.selectsNamespaces) this.#sets.delete(set.key);
  }
}

function count(counted: Counted, slot: number, pod: Pod, sign: 1 | -1): void {
  if (!counted.set.has(pod)) return;
  if (slot >= counted.counts.length) {
    const larger = new Int32Array(Math.max(slot + 1, 2 * counted.counts.length));
    larger.set(counted.counts);
    counted.counts = larger;
  }
  counted.counts[slot] = (counted.counts[slot] ?? 0) + sign;
  for (const sums of counted.sums.values()) sums.add(slot, sign);
}

function sumOf(holders: readonly Holder[], domains: Domains): DomainSums {
  const sums = new DomainSums(domains);
  for (const { counts } of holders) for (const [slot, pods] of counts) sums.add(slot, pods);
  return sums;
}
