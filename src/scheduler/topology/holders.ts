import { type Pod } from "#api/core/pod.ts";
import { BoundedCache } from "#lib/data/bounded-cache.ts";
import { type AffinityTerm, type NamespaceLabels } from "./affinity-term.ts";
import type { DomainSums } from "./domain-sums.ts";
import { type PodTerms, podTermsOf } from "./pod-terms.ts";

/** A term that pods on nodes have, and how many of them are on which node. */
export interface Holder {
  readonly term: AffinityTerm;
  /** What one of these pods adds to the score of near nodes; `forbids`: it forbids them. */
  readonly weight: number | "required" | "forbids";
  /** Slot → pods. */
  readonly counts: Map<number, number>;
  /** The same by domain, if somebody has asked for it. */
  sums?: DomainSums;
}

/** The holders that concern pods with certain labels, among the first ones of the list. */
interface Concerning {
  readonly generation: number;
  found: Holder[];
  upTo: number;
}

/** So many terms may be kept that no pod has, before they are looked for. */
const minUnused = 1024;

/**
 * The affinity terms of all pods that are on a node. Equal terms are kept once, and for a while also without a pod:
 * preemption takes pods away and puts them back many times, and users choose how many terms there are.
 */
export class Holders {
  readonly #byKey = new Map<string, Holder>();
  /** The same in the order in which they came, so that a new one is compared with a pod without all the others. */
  #list: Holder[] = [];
  #unused = 0;
  readonly #concerning = new BoundedCache<Concerning>({ entries: 256, chars: 4 << 20, keyChars: 64 << 10 });
  #generation = 0;

  add(pod: Pod, slot: number, sign: 1 | -1): void {
    const { near, apart, preferred }: PodTerms = podTermsOf(pod);
    for (const term of apart) this.#count({ term, weight: "forbids" }, slot, sign);
    for (const term of near) this.#count({ term, weight: "required" }, slot, sign);
    for (const weighted of preferred) this.#count(weighted, slot, sign);
    if (this.#unused > minUnused && this.#unused > this.#byKey.size / 2) this.#dropUnused();
  }

  /** Terms of other pods whose set contains this pod. */
  concerning(pod: Pod, namespaceLabels: NamespaceLabels): readonly Holder[] {
    if (this.#byKey.size === this.#unused) return none;
    const { namespace, labels } = pod.metadata;
    const key = JSON.stringify([namespace, labels]);
    let known = this.#concerning.get(key);
    if (known?.generation !== this.#generation) {
      known = { generation: this.#generation, found: [], upTo: 0 };
      this.#concerning.set(key, known);
    }
    for (; known.upTo < this.#list.length; known.upTo++) {
      const holder = this.#list[known.upTo];
      if (holder?.term.matches(pod, namespaceLabels)) known.found.push(holder);
    }
    return known.found.filter(({ counts }) => counts.size > 0);
  }

  /** Labels of namespaces have changed. */
  forget(): void {
    this.#generation++;
  }

  #count({ term, weight }: Pick<Holder, "term" | "weight">, slot: number, sign: 1 | -1): void {
    const key = `${weight} ${term.key}`;
    let holder = this.#byKey.get(key);
    if (!holder) {
      holder = { term, weight, counts: new Map() };
      this.#byKey.set(key, holder);
      this.#list.push(holder);
      this.#unused++;
    }
    const { counts } = holder;
    const wasUsed = counts.size > 0;
    const left = (counts.get(slot) ?? 0) + sign;
    if (left > 0) counts.set(slot, left);
    else counts.delete(slot);
    holder.sums?.add(slot, sign);
    this.#unused += Number(wasUsed) - Number(counts.size > 0);
  }

  #dropUnused(): void {
    for (const [key, { counts }] of this.#byKey) if (counts.size === 0) this.#byKey.delete(key);
    this.#list = [...this.#byKey.values()];
    this.#unused = 0;
    this.forget();
  }
}

const none: readonly Holder[] = [];
