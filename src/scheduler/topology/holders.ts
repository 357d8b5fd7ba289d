import { type Pod } from "#api/core/pod.ts";
import { LruMap } from "#lib/data/lru-map.ts";
import { type AffinityTerm, type NamespaceLabels } from "./affinity-term.ts";
import { type PodTerms, podTermsOf } from "./pod-terms.ts";

/** A term that pods on nodes have, and how many of them are on which node. */
export interface Holder {
  readonly term: AffinityTerm;
  /** What one of these pods adds to the score of near nodes; undefined: it forbids them. */
  readonly weight: number | undefined;
  /** Slot → pods. */
  readonly counts: Map<number, number>;
}

/** A pod that must be near to others also makes their nodes a little better for them. */
const requiredWeight = 1;

/** The affinity terms of all pods that are on a node. Equal terms are kept once. */
export class Holders {
  readonly #byKey = new Map<string, Holder>();
  /** Which of them concern pods with these labels. */
  readonly #concerning = new LruMap<string, readonly Holder[]>(1024);
  #generation = 0;

  add(pod: Pod, slot: number, sign: 1 | -1): void {
    const { near, apart, preferred }: PodTerms = podTermsOf(pod);
    for (const term of apart) this.#count({ term, weight: undefined }, slot, sign);
    for (const term of near) this.#count({ term, weight: requiredWeight }, slot, sign);
    for (const weighted of preferred) this.#count(weighted, slot, sign);
  }

  /** Terms of other pods whose set contains this pod. */
  concerning(pod: Pod, namespaceLabels: NamespaceLabels): readonly Holder[] {
    if (this.#byKey.size === 0) return none;
    const { namespace, labels } = pod.metadata;
    const key = JSON.stringify([this.#generation, namespace, labels]);
    let found = this.#concerning.get(key);
    if (!found) {
      found = [...this.#byKey.values()].filter(({ term }) => term.matches(pod, namespaceLabels));
      this.#concerning.set(key, found);
    }
    return found;
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
      this.forget();
    }
    const left = (holder.counts.get(slot) ?? 0) + sign;
    if (left > 0) holder.counts.set(slot, left);
    else holder.counts.delete(slot);
    if (holder.counts.size > 0) return;
    this.#byKey.delete(key);
    this.forget();
  }
}

const none: readonly Holder[] = [];
