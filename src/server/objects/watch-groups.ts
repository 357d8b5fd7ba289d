import { type ApiObject, type Resource } from "#api/resource.ts";
import { type Clock } from "#lib/clock.ts";
import { type EncodedObject, type FrameType } from "./encode-once.ts";
import { getterOf, type Selection } from "./selection.ts";
import { type CacheWatcher } from "./watch-cache.ts";

/** One change of one object, before any selection. */
export interface CacheEvent<T extends ApiObject = ApiObject> {
  readonly revision: number;
  readonly type: "put" | "delete";
  /** After a delete: the last state, at the revision of the delete. */
  readonly encoded: EncodedObject<T>;
  readonly previous: EncodedObject<T> | undefined;
}

/** What one group of watchers gets from one commit: matched once, and turned into bytes once per encoding. */
export class WatchBatch {
  readonly events: readonly { readonly type: FrameType; readonly encoded: EncodedObject }[];
  /** Everything up to this revision is in this batch or in earlier ones. */
  readonly revision: number;
  readonly #bytes = new Map<string, Uint8Array>();

  constructor(events: WatchBatch["events"], revision: number) {
    this.events = events;
    this.revision = revision;
  }
  /** The bytes under this name, made by the first watcher that asks. */
  bytes(encoding: string, make: () => Uint8Array): Uint8Array {
    let bytes = this.#bytes.get(encoding);
    if (!bytes) {
      bytes = make();
      this.#bytes.set(encoding, bytes);
    }
    return bytes;
  }
}

interface Group {
  readonly selection: Selection;
  readonly watchers: Set<CacheWatcher>;
}

/** Groups that can only match objects with one value of a field or one namespace are found by that value. */
interface Route<T extends ApiObject> {
  keyOf(object: T): string;
  readonly groups: Map<string, Set<Group>>;
}

const bookmarkMs = 60_000;

/** Watchers that ask for the same thing are one group. An event is only shown to the groups it can concern. */
export class WatchGroups<T extends ApiObject> {
  readonly #resource: Resource<T>;
  readonly #clock: Clock;
  readonly #groups = new Map<string, Group>();
  readonly #routes = new Map<string, Route<T>>();
  readonly #newest: () => number;
  #stopBookmarks: (() => void) | undefined;

  /** `newest` says how far all watchers have been served. */
  constructor(resource: Resource<T>, clock: Clock, newest: () => number) {
    this.#resource = resource;
    this.#clock = clock;
    this.#newest = newest;
  }

  join(selection: Selection, watcher: CacheWatcher): () => void {
    let group = this.#groups.get(selection.key);
    if (!group) {
      group = { selection, watchers: new Set() };
      this.#groups.set(selection.key, group);
      this.#routed(selection, (groups, joined) => groups.add(joined), group);
    }
    group.watchers.add(watcher);
    if (!this.#stopBookmarks) this.#scheduleBookmarks();
    return () => this.#leave(group, watcher);
  }

  deliver(events: readonly CacheEvent<T>[], revision: number): void {
    if (this.#groups.size === 0) return;
    const concerned = new Map<Group, CacheEvent<T>[]>();
    for (const event of events) {
      for (const group of this.#concernedBy(event)) {
        const seen = concerned.get(group);
        if (seen) seen.push(event);
        else concerned.set(group, [event]);
      }
    }
    for (const [group, groupEvents] of concerned) {
      const batch = this.matching(group.selection, groupEvents, revision);
      if (!batch) continue;
      for (const watcher of group.watchers) hand(group, watcher, batch);
    }
  }

  /** The events as a watcher of this selection sees them; undefined if it sees none. */
  matching(selection: Selection, events: readonly CacheEvent<T>[], revision: number): WatchBatch | undefined {
    const seen: { type: FrameType; encoded: EncodedObject }[] = [];
    for (const event of events) {
      const type = seenAs(event, selection);
      if (!type) continue;
      // An object that stops matching goes with its last matching state, at the new revision.
      const { encoded, previous } = event;
      const left = type === "DELETED" && event.type === "put" && previous;
      seen.push({ type, encoded: left ? previous.at(event.revision) : encoded });
    }
    return seen.length > 0 ? new WatchBatch(seen, revision) : undefined;
  }

  endAll(error?: Error): void {
    const groups = [...this.#groups.values()];
    this.#groups.clear();
    this.#routes.clear();
    this.#stopBookmarks?.();
    this.#stopBookmarks = undefined;
    for (const { watchers } of groups) for (const watcher of [...watchers]) watcher.end(error);
  }

  close(): void {
    this.endAll();
  }

  #leave(group: Group, watcher: CacheWatcher): void {
    group.watchers.delete(watcher);
    if (group.watchers.size > 0 || this.#groups.get(group.selection.key) !== group) return;
    this.#groups.delete(group.selection.key);
    this.#routed(group.selection, (groups, left) => groups.delete(left), group);
    if (this.#groups.size > 0) return;
    this.#stopBookmarks?.();
    this.#stopBookmarks = undefined;
  }

  #routed(selection: Selection, change: (groups: Set<Group>, group: Group) => void, group: Group): void {
    const { name, value } = routeOf(selection);
    let route = this.#routes.get(name);
    if (!route) {
      route = { keyOf: this.#keyGetter(name), groups: new Map() };
      this.#routes.set(name, route);
    }
    let groups = route.groups.get(value);
    if (!groups) {
      groups = new Set();
      route.groups.set(value, groups);
    }
    change(groups, group);
    if (groups.size === 0) route.groups.delete(value);
    if (route.groups.size === 0) this.#routes.delete(name);
  }

  #keyGetter(name: string): (object: T) => string {
    if (name === "all") return () => "";
    if (name === "namespace") return ({ metadata }) => metadata.namespace ?? "";
    const getter = getterOf(this.#resource, name);
    return (object) => getter(object) ?? "";
  }

  *#concernedBy({ encoded, previous }: CacheEvent<T>): Iterable<Group> {
    for (const { keyOf, groups } of this.#routes.values()) {
      const now = keyOf(encoded.object);
      yield* groups.get(now) ?? [];
      if (!previous) continue;
      const before = keyOf(previous.object);
      if (before !== now) yield* groups.get(before) ?? [];
    }
  }

  /** One timer for all watchers, running only while there are some. */
  #scheduleBookmarks(): void {
    this.#stopBookmarks = this.#clock.after(bookmarkMs, () => {
      for (const { watchers } of this.#groups.values()) {
        for (const watcher of watchers) watcher.bookmark(this.#newest());
      }
      this.#scheduleBookmarks();
    });
  }
}

/** One that cannot take it is ended; it must not keep the others, or the cache itself, from the event. */
function hand(group: Group, watcher: CacheWatcher, batch: WatchBatch): void {
  try {
    watcher.batch(batch);
  } catch (error) {
    group.watchers.delete(watcher);
    watcher.end(error instanceof Error ? error : new Error(String(error)));
  }
}

function routeOf({ namespace, name, field }: Selection): { name: string; value: string } {
  if (field) return { name: field.path, value: field.value };
  if (name !== undefined) return { name: "metadata.name", value: name };
  if (namespace) return { name: "namespace", value: namespace };
  return { name: "all", value: "" };
}

function seenAs({ type, encoded, previous }: CacheEvent, selection: Selection): FrameType | undefined {
  const was =
    previous !== undefined &&
    (selection.everything ? inNamespace(previous, selection) : selection.matches(previous.object));
  if (type === "delete") return was ? "DELETED" : undefined;
  const is = selection.everything ? inNamespace(encoded, selection) : selection.matches(encoded.object);
  if (is) return was ? "MODIFIED" : "ADDED";
  return was ? "DELETED" : undefined;
}

const inNamespace = ({ object }: EncodedObject, { namespace }: Selection): boolean =>
  !namespace || object.metadata.namespace === namespace;
