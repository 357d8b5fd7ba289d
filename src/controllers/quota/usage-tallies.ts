import { type ResourceQuota } from "#api/core/resource-quota.ts";
import { type Evaluator, type Influence, limitsFor, type UsageContext } from "#api/quota/evaluator.ts";
import { evaluatorOf, isLimitable } from "#api/quota/evaluators.ts";
import { type ApiObject, type Resource } from "#api/resource.ts";
import { type Clock } from "#lib/async/clock.ts";
import { inSlices, type Steps } from "#lib/async/turns.ts";
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
  /** Everything has to be counted anew. */
  readonly isOutdated: boolean;
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
  /** Something has changed that decides what many objects take. */
  isOutdated: boolean;
}

/** A kind that some quota limits. */
interface Kind {
  readonly resource: Resource;
  readonly evaluator: Evaluator;
  readonly informer: Informer;
  readonly entries: Map<string, Set<Entry>>;
}

/** How many objects are counted before looking at the time. */
const objectsPerStep = 10;

/** The tallies of all quotas. Kinds that no quota limits are not followed. */
export class UsageTallies {
  readonly #deps: UsageTalliesDeps;
  readonly #entries = new Map<string, Entry>();
  readonly #kinds = new Map<Resource, Kind & { stop(): void }>();

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
    const resources = this.#limitedBy(quota);
    const now = this.#deps.clock.now();
    const isYoung = known !== undefined && !known.isOutdated && now - known.builtAtMs < maxAgeMs;
    if (isYoung && known.uid === uid && equal(known.spec, quota.spec) && countsAll(known, resources))
      return known.tally;
    await Promise.all(resources.flatMap(neededFor).map((kind) => this.#deps.informers.of(kind).synced(signal)));
    const kinds = resources.map((resource) => this.#kindOf(resource));
    const tally = new UsageTally(
      quota,
      kinds.map(({ evaluator }) => evaluator),
    );
    // What was released and not written yet must not be lost.
    if (known?.uid === uid) tally.putBack(known.tally.takeReleased());
    const builtAtMs = this.#deps.clock.now();
    const entry: Entry = { namespace, name, uid, spec: quota.spec, tally, kinds, builtAtMs, isOutdated: false };
    const count = this.#enter(entry);
    if (known) this.#leave(known);
    await inSlices(count);
    tally.complete();
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
    const known = this.#kinds.get(resource);
    if (known) return known;
    const { informers } = this.#deps;
    const informer = informers.of(resource);
    const evaluator = evaluatorOf(resource);
    const kind = { resource, evaluator, informer, entries: new Map<string, Set<Entry>>() };
    const stops = [
      informer.subscribe((change) => this.#take(kind, change)),
      ...(evaluator.influences ?? []).map((influence) =>
        informers.of(influence.resource).subscribe((change) => this.#takeInfluence(kind, influence, change)),
      ),
    ];
    const stop = (): void => {
      for (const each of stops) each();
    };
    this.#kinds.set(resource, { ...kind, stop });
    return kind;
  }

  /** Changes are counted from now on; the steps that are returned count what exists now. */
  #enter(entry: Entry): Steps<void> {
    const { namespace, kinds } = entry;
    this.#entries.set(keyOf(entry), entry);
    for (const { entries } of kinds) entries.set(namespace, (entries.get(namespace) ?? new Set()).add(entry));
    const existing = kinds.map((kind) => ({ kind, objects: kind.informer.list(namespace) }));
    return countAll(entry.tally, existing, () => this.#context());
  }

  /** Kinds that no quota limits any more are not followed any longer. */
  #leave(entry: Entry): void {
    for (const { entries } of entry.kinds) {
      const inNamespace = entries.get(entry.namespace);
      inNamespace?.delete(entry);
      if (inNamespace?.size === 0) entries.delete(entry.namespace);
    }
    for (const [resource, { entries, stop }] of this.#kinds) {
      if (entries.size > 0) continue;
      stop();
      this.#kinds.delete(resource);
    }
  }

  #take(kind: Kind, change: Change<ApiObject>): void {
    const entries = kind.entries.get(change.object.metadata.namespace ?? "");
    for (const { namespace, name, tally } of entries ?? []) {
      const moved = tally.take(change, kind.evaluator, this.#context());
      this.#changed?.({ namespace, name, tally, isOutdated: false, trace: change.trace, ...moved });
    }
  }

  /** Takes a change of an object into account on which others depend. */
  #takeInfluence(kind: Kind, influence: Influence, change: Change<ApiObject>): void {
    if (kind.entries.size === 0) return;
    const { trace } = change;
    const isGone = change.type === "delete";
    const influenced = { before: isGone ? change.object : change.previous, after: isGone ? undefined : change.object };
    const concerned = influence.concerns(influenced, this.#deps.informers);
    if (concerned === "all") return this.#outdate(kind, trace);
    for (const [inNamespace, objects] of Map.groupBy(concerned, ({ metadata }) => metadata.namespace ?? "")) {
      for (const { namespace, name, tally } of kind.entries.get(inNamespace) ?? []) {
        const moved = tally.takeAgain(objects, kind.evaluator, this.#context());
        this.#changed?.({ namespace, name, tally, isOutdated: false, trace, ...moved });
      }
    }
  }

  #outdate({ entries }: Kind, trace: string | undefined): void {
    for (const entry of [...entries.values()].flatMap((inNamespace) => [...inNamespace])) {
      entry.isOutdated = true;
      const { namespace, name, tally } = entry;
      this.#changed?.({ namespace, name, tally, isOutdated: true, trace, raised: [], isReleased: false });
    }
  }

  #context(): UsageContext {
    return { nowMs: this.#deps.clock.now(), objects: this.#deps.informers };
  }
}

const keyOf = ({ namespace, name }: { readonly namespace: string; readonly name: string }): string =>
  `${namespace}/${name}`;

/** Custom kinds come and go. */
const countsAll = ({ kinds }: Entry, resources: readonly Resource[]): boolean =>
  kinds.length === resources.length && kinds.every(({ resource }, index) => resource === resources[index]);

interface Existing {
  readonly kind: Kind;
  readonly objects: readonly ApiObject[];
}

/** The kind, and those that decide what its objects take. */
const neededFor = (resource: Resource): Resource[] => [
  resource,
  ...(evaluatorOf(resource).influences ?? []).map((influence) => influence.resource),
];

function* countAll(tally: UsageTally, existing: readonly Existing[], context: () => UsageContext): Steps<void> {
  let added = 0;
  for (const { kind, objects } of existing) {
    for (const object of objects) {
      tally.add(object, kind.evaluator, context());
      if (++added % objectsPerStep === 0) yield;
    }
  }
}
