import { type Pod } from "#api/core/pod.ts";
import { type Service } from "#api/core/service.ts";
import { matchesLabels } from "#api/meta/label-selector.ts";
import { equal } from "#lib/data/equal.ts";
import { type Change, type Informer } from "#runtime/informer.ts";
import { type Wake } from "#runtime/reconciler.ts";

type Labels = Readonly<Record<string, string>>;

/** A label with its value that selectors of a namespace name. */
interface Pair {
  /** How many selectors name it. */
  uses: number;
  /** The services that are looked up by this pair, with their selectors. */
  readonly services: Map<string, Labels>;
  /** The names of the pods that have it. */
  readonly pods: Set<string>;
}

/**
 * Which services select which pods. A change of a pod costs work for its own services only, and the pods of a service
 * are found without a look at all others.
 *
 *     pairs   "shop/app=web"  ─→  services: web        pods: web-1, web-2
 *             "shop/tier=ui"  ─→  services:            pods: web-1, web-2, api-1
 *
 * A service is looked up by one pair of its selector: the one that the fewest others are looked up by. Its pods are
 * those of its rarest pair that match the whole selector.
 */
export class Selections {
  readonly #services: Informer<Service>;
  readonly #pods: Informer<Pod>;
  readonly #pairs = new Map<string, Pair>();

  constructor(services: Informer<Service>, pods: Informer<Pod>) {
    this.#services = services;
    this.#pods = pods;
  }

  /** Calls back for every change of a pod, until the returned function is called. */
  follow(onPod: (change: Change<Pod>) => void): () => void {
    const stopServices = this.#services.subscribe((change) => this.#takeService(change));
    const stopPods = this.#pods.subscribe((change) => {
      this.#takePod(change);
      onPod(change);
    });
    return () => {
      stopServices();
      stopPods();
      this.#pairs.clear();
    };
  }

  podsOf({ metadata: { namespace }, spec: { selector } }: Service): Pod[] {
    let rarest: ReadonlySet<string> | undefined;
    for (const key of keysOf(namespace, selector)) {
      const names = this.#pairs.get(key)?.pods ?? noNames;
      if (!rarest || names.size < rarest.size) rarest = names;
    }
    const found: Pod[] = [];
    for (const name of rarest ?? noNames) {
      const pod = this.#pods.get({ namespace, name });
      if (pod && selector && matchesLabels(selector, pod.metadata.labels)) found.push(pod);
    }
    return found;
  }

  *servicesFor(namespace: string, labels: Labels | undefined): Iterable<Wake> {
    // Without services, no pod costs anything.
    if (this.#pairs.size === 0) return;
    for (const key of keysOf(namespace, labels)) {
      for (const [name, selector] of this.#pairs.get(key)?.services ?? []) {
        if (matchesLabels(selector, labels)) yield { namespace, name };
      }
    }
  }

  #takeService(change: Change<Service>): void {
    const previous = change.type === "put" ? change.previous : change.object;
    if (change.type === "put" && previous && equal(previous.spec.selector, change.object.spec.selector)) return;
    if (previous) this.#removeService(previous);
    if (change.type === "put") this.#addService(change.object);
  }

  #addService({ metadata: { namespace, name }, spec: { selector } }: Service): void {
    let best: Pair | undefined;
    for (const key of keysOf(namespace, selector)) {
      const pair = this.#pairs.get(key) ?? this.#newPair(key, namespace);
      pair.uses++;
      if (!best || pair.services.size < best.services.size) best = pair;
    }
    if (selector) best?.services.set(name, selector);
  }

  #removeService({ metadata: { namespace, name }, spec: { selector } }: Service): void {
    for (const key of keysOf(namespace, selector)) {
      const pair = this.#pairs.get(key);
      if (!pair) continue;
      pair.services.delete(name);
      if (--pair.uses === 0) this.#pairs.delete(key);
    }
  }

  /** A pair that no selector named before: its pods are found once. */
  #newPair(key: string, namespace: string): Pair {
    const pair: Pair = { uses: 0, services: new Map(), pods: new Set() };
    this.#pairs.set(key, pair);
    for (const { metadata } of this.#pods.list(namespace)) {
      if (keysOf(namespace, metadata.labels).includes(key)) pair.pods.add(metadata.name);
    }
    return pair;
  }

  #takePod(change: Change<Pod>): void {
    if (this.#pairs.size === 0) return;
    const { namespace, name, labels } = change.object.metadata;
    const before = change.type === "put" ? change.previous?.metadata.labels : labels;
    const now = change.type === "put" ? labels : undefined;
    if (change.type === "put" && change.previous && equal(before, now)) return;
    for (const key of keysOf(namespace, before)) this.#pairs.get(key)?.pods.delete(name);
    for (const key of keysOf(namespace, now)) this.#pairs.get(key)?.pods.add(name);
  }
}

const noNames: ReadonlySet<string> = new Set();

const keysOf = (namespace: string, labels: Labels | undefined): string[] =>
  Object.entries(labels ?? {}).map(([label, value]) => `${namespace}/${label}=${value}`);
