import { type ApiObject, type Resource } from "#api/resource.ts";
import { type Clock } from "#lib/async/clock.ts";
import { maxKeyChars } from "#lib/text/long-text.ts";
import { type Change } from "#runtime/informer.ts";
import { type EncodedObject, type FrameType } from "./encode-once.ts";
import { getterOf, type Selection } from "./selection.ts";

/** One change of one object, before any selection. */
export interface CacheEvent<T extends ApiObject = ApiObject> {
  readonly revision: number;
  /** "" if the Resource is not namespaced. */
  readonly namespace: string;
  readonly type: "put" | "delete";
  /** After a delete: the last state, at the revision of the delete. */
  readonly encoded: EncodedObject<T>;
  readonly previous: EncodedObject<T> | undefined;
}

/** What followers of the cache in this process get for an event. */
export function changeOf<T extends ApiObject>(
  { type, encoded, previous }: Pick<CacheEvent<T>, "type" | "encoded" | "previous">,
  trace: string | undefined,
): Change<T> {
  const { object } = encoded;
  return type === "put" ? { type, object, previous: previous?.object, trace } : { type, object, trace };
}

/** The events of all watchers of one selection: matched once, and encoded once per format. */
export class WatchBatch {
  readonly events: readonly SeenEvent[];
  /** Everything up to this revision is in this batch or in earlier ones. */
  readonly revision: number;
  readonly #bytes = new Map<string, Uint8Array>();

  constructor(events: readonly SeenEvent[], revision: number) {
    this.events = events;
    this.revision = revision;
  }
  /** The bytes for this encoding, made for the first watcher that needs them. */
  bytes(encoding: string, make: () => Uint8Array): Uint8Array {
    let bytes = this.#bytes.get(encoding);
    if (!bytes) {
      bytes = make();
      this.#bytes.set(encoding, bytes);
    }
    return bytes;
  }
  /** The part that is new to a watcher at this revision. */
  after(revision: number): WatchBatch {
    return new WatchBatch(
      this.events.filter(({ encoded }) => encoded.revision > revision),
      this.revision,
    );
  }
}

/** One event as a watcher of a selection sees it. */
interface SeenEvent {
  readonly type: FrameType;
  readonly encoded: EncodedObject;
}

/** A watcher that is in step with the cache. */
export interface GroupMember {
  /** Accepts the events that follow the revision `before`, or leaves its group. */
  take(batch: WatchBatch, before: number): void;
  /** Time to report the revision of the watch. */
  bookmark(): void;
  end(error?: Error): void;
}

interface Group {
  readonly selection: Selection;
  readonly members: Set<GroupMember>;
}

/** Groups that can match only one value of a field or one namespace are found by that value. */
interface Route<T extends ApiObject> {
  keyOf(object: T): string;
  readonly groups: Map<string, Set<Group>>;
}

const bookmarkMs = 60_000;

/** Watchers with the same selection form a group. An event is offered only to the groups that it can concern. */
export class WatchGroups<T extends ApiObject> {
  readonly #resource: Resource<T>;
  readonly #clock: Clock;
  readonly #groups = new Map<string, Group>();
  readonly #routes = new Map<string, Route<T>>();
  #stopBookmarks: (() => void) | undefined;

  constructor(resource: Resource<T>, clock: Clock) {
    this.#resource = resource;
    this.#clock = clock;
  }

  /** From now on the member gets new events; the returned function ends that. */
  join(selection: Selection, member: GroupMember): () => void {
    let group = this.#groups.get(selection.key);
    if (!group) {
      group = { selection, members: new Set() };
      this.#groups.set(selection.key, group);
      this.#routed(selection, (groups, joined) => groups.add(joined), group);
    }
    group.members.add(member);
    if (!this.#stopBookmarks) this.#scheduleBookmarks();
    return () => this.#leave(group, member);
  }

  /** Delivers the events that lead from the revision `before` to `revision`. */
  deliver(events: readonly CacheEvent<T>[], { before, revision }: { before: number; revision: number }): void {
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
      let from = before;
      for (const batch of inPieces(seenBy(group.selection, groupEvents), revision)) {
        const piece = { batch, before: from };
        for (const member of group.members) deliverTo(group, member, piece);
        from = batch.revision;
      }
    }
  }

  endAll(error?: Error): void {
    const groups = [...this.#groups.values()];
    this.#groups.clear();
    this.#routes.clear();
    this.#stopBookmarks?.();
    this.#stopBookmarks = undefined;
    for (const { members } of groups) for (const member of [...members]) member.end(error);
  }

  #leave(group: Group, member: GroupMember): void {
    group.members.delete(member);
    if (group.members.size > 0 || this.#groups.get(group.selection.key) !== group) return;
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
      if (now.length <= maxKeyChars) yield* groups.get(now) ?? [];
      if (!previous) continue;
      const before = keyOf(previous.object);
      if (before !== now && before.length <= maxKeyChars) yield* groups.get(before) ?? [];
    }
  }

  /** One timer for all watchers, which runs only while there are any. */
  #scheduleBookmarks(): void {
    this.#stopBookmarks = this.#clock.after(bookmarkMs, () => {
      for (const { members } of this.#groups.values()) {
        for (const member of members) member.bookmark();
      }
      this.#scheduleBookmarks();
    });
  }
}

/** A member that fails is ended; it must not keep the event from the others, or from the cache itself. */
function deliverTo(group: Group, member: GroupMember, piece: { batch: WatchBatch; before: number }): void {
  try {
    member.take(piece.batch, piece.before);
  } catch (error) {
    group.members.delete(member);
    member.end(error instanceof Error ? error : new Error(String(error)));
  }
}

/** More than a slow watcher should have to hold at a time. */
const pieceBytes = 256 << 10;

/** One batch, or several if that would be very large. The events of one revision stay together. */
function inPieces(events: readonly SeenEvent[], revision: number): WatchBatch[] {
  const pieces: WatchBatch[] = [];
  let start = 0;
  let bytes = 0;
  for (let at = 0; at < events.length; at++) {
    const last = events[at - 1]?.encoded.revision ?? 0;
    const { encoded } = events[at] as SeenEvent;
    if (bytes >= pieceBytes && encoded.revision !== last) {
      pieces.push(new WatchBatch(events.slice(start, at), last));
      start = at;
      bytes = 0;
    }
    bytes += encoded.storedBytes;
  }
  if (events.length > start) pieces.push(new WatchBatch(start > 0 ? events.slice(start) : events, revision));
  return pieces;
}

function routeOf({ namespace, name, field }: Selection): { name: string; value: string } {
  if (field) return { name: field.path, value: field.value };
  if (name !== undefined) return { name: "metadata.name", value: name };
  if (namespace) return { name: "namespace", value: namespace };
  return { name: "all", value: "" };
}

/** The events as a watcher of this selection sees them. */
export function seenBy(selection: Selection, events: readonly CacheEvent[]): SeenEvent[] {
  const seen: SeenEvent[] = [];
  for (const event of events) {
    const type = seenAs(event, selection);
    if (!type) continue;
    // An object that stops matching is deleted with its last matching state, at the new revision.
    const { encoded, previous } = event;
    const left = type === "DELETED" && event.type === "put" && previous;
    seen.push({ type, encoded: left ? previous.at(event.revision) : encoded });
  }
  return seen;
}

function seenAs({ type, namespace, encoded, previous }: CacheEvent, selection: Selection): FrameType | undefined {
  // By the namespace alone if that decides, because past versions would have to be parsed for more.
  if (selection.namespace && namespace !== selection.namespace) return undefined;
  const { everything } = selection;
  const was = previous !== undefined && (everything || selection.matches(previous.object));
  if (type === "delete") return was ? "DELETED" : undefined;
  const is = everything || selection.matches(encoded.object);
  if (is) return was ? "MODIFIED" : "ADDED";
  return was ? "DELETED" : undefined;
}
