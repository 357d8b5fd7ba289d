import { type ResourceQuota } from "#api/core/resource-quota.ts";
import { type Evaluator, limitsFor } from "#api/quota/evaluator.ts";
import { evaluatorOf, isLimitable } from "#api/quota/evaluators.ts";
import { type ApiObject, groupResource, type Resource } from "#api/resource.ts";
import { type Clock } from "#lib/async/clock.ts";
import { inTurns, type Steps } from "#lib/async/turns.ts";
import { equal } from "#lib/data/equal.ts";
import { type Change, type Informer, type Informers } from "#runtime/informer.ts";
import { type Moved, UsageTally } from "./usage-tally.ts";

export interface UsageTalliesDeps {
  readonly informers: Informers;
  readonly clock: Clock;
  /** Every kind that is currently served. */
  resources(): readonly Resource[];
}

/** A change of what the objects of a namespace use, for one quota. */
export interface TallyChange extends Moved {
  readonly namespace: string;
  readonly name: string;
  readonly tally: UsageTally;
  readonly trace: string | undefined;
}

interface Entry {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly tally: UsageTally;
  readonly spec: ResourceQuota["spec"];
  readonly kinds: readonly Kind[];
  readonly builtAtMs: number;
}

/** A kind that some quota limits. */
interface Kind {
  readonly evaluator: Evaluator;
  readonly informer: Informer;
  readonly entries: Map<string, Set<Entry>>;
}

/** How many objects are counted before others have a turn. */
const objectsPerTurn = 500;

/** The tallies of all quotas. Kinds that no quota limits are not followed. */
export class UsageTallies {
  readonly #deps: UsageTalliesDeps;
  readonly #entries = new Map<string, Entry>();
  readonly #kinds = new Map<string, Kind & { stop(): void }>();

  #changed: ((change: TallyChange) => void) | undefined;

  constructor(deps: UsageTalliesDeps) {
    this.#deps = deps;
  }

  /** Who is told about changes; only one can be. */
  onChange(changed: (change: TallyChange) => void): void {
    this.#changed = changed;
  }

  /** The tally of the quota as it is now; counts anew if its limits have changed or the count is older than this. */
  async of(quota: ResourceQuota, maxAgeMs: number, signal: AbortSignal): Promise<UsageTally> {
    const { namespace, name, uid } = quota.metadata;
    const known = this.#entries.get(keyOf(quota.metadata));
    const isYoung = known !== undefined && this.#deps.clock.now() - known.builtAtMs < maxAgeMs;
    if (known && isYoung && known.uid === uid && equal(known.spec, quota.spec)) return known.tally;
    const resources = this.#limitedBy(quota);
    await Promise.all(resources.map((resource) => this.#deps.informers.of(resource).synced(signal)));
    const kinds = resources.map((resource) => this.#kindOf(resource));
    const tally = new UsageTally(
      quota,
      kinds.map(({ evaluator }) => evaluator),
    );
    // What was released and not written yet must not be lost.
    if (known?.uid === uid) tally.putBack(known.tally.takeReleased());
    const builtAtMs = this.#deps.clock.now();
    const entry: Entry = { namespace, name, uid, spec: quota.spec, tally, kinds, builtAtMs };
    const count = this.#enter(entry);
    if (known) this.#leave(known);
    await inTurns(count);
    signal.throwIfAborted();
    return tally;
  }

  drop(ref: { readonly namespace: string; readonly name: string }): void {
    const entry = this.#entries.get(keyOf(ref));
    this.#entries.delete(keyOf(ref));
    if (entry) this.#leave(entry);
  }

  close(): void {
    for (const { stop } of this.#kinds.values()) stop();
    this.#kinds.clear();
    this.#entries.clear();
  }

  /** The kinds whose objects take from a limit of the quota. */
  #limitedBy({ spec }: ResourceQuota): Resource[] {
    const { hard = {} } = spec;
    return this.#deps
      .resources()
      .filter(
        (resource) => isLimitable(resource) && !resource.storedAs && limitsFor(evaluatorOf(resource), hard).length > 0,
      );
  }

  #kindOf(resource: Resource): Kind {
    const key = groupResource(resource, resource.plural);
    const known = this.#kinds.get(key);
    if (known) return known;
    const informer = this.#deps.informers.of(resource);
    const kind = { evaluator: evaluatorOf(resource), informer, entries: new Map<string, Set<Entry>>() };
    const stop = informer.subscribe((change) => this.#take(kind, change));
    this.#kinds.set(key, { ...kind, stop });
    return kind;
  }

  /** Changes are counted from now on; the steps that are returned count what exists now. */
  #enter(entry: Entry): Steps<void> {
    const { namespace, kinds } = entry;
    this.#entries.set(keyOf(entry), entry);
    for (const { entries } of kinds) entries.set(namespace, (entries.get(namespace) ?? new Set()).add(entry));
    return countAll(
      entry,
      kinds.map((kind) => ({ kind, objects: kind.informer.list(namespace) })),
    );
  }

  /** Kinds that no quota limits any more are not followed any longer. */
  #leave(entry: Entry): void {
    for (const { entries } of entry.kinds) {
      const inNamespace = entries.get(entry.namespace);
      inNamespace?.delete(entry);
      if (inNamespace?.size === 0) entries.delete(entry.namespace);
    }
    for (const [key, { entries, stop }] of this.#kinds) {
      if (entries.size > 0) continue;
      stop();
      this.#kinds.delete(key);
    }
  }

  #take(kind: Kind, change: Change<ApiObject>): void {
    const entries = kind.entries.get(change.object.metadata.namespace ?? "");
    for (const { namespace, name, tally } of entries ?? []) {
      const moved = tally.take(change, kind.evaluator, this.#deps.clock.now());
      this.#changed?.({ namespace, name, tally, trace: change.trace, ...moved });
    }
  }
}

const keyOf = ({ namespace, name }: { readonly namespace: string; readonly name: string }): string =>
  `${namespace}/${name}`;

interface Existing {
  readonly kind: Kind;
  readonly objects: readonly ApiObject[];
}

function* countAll({ tally, builtAtMs }: Entry, existing: readonly Existing[]): Steps<void> {
  let added = 0;
  for (const { kind, objects } of existing) {
    for (const object of objects) {
      tally.add(object, kind.evaluator, builtAtMs);
      if (++added % objectsPerTurn === 0) yield;
    }
  }
}
