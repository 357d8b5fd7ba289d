import { type ApiObject, type Resource } from "#api/resource.ts";
import { StatusError } from "#api/status.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type Log } from "#lib/process/log.ts";
import {
  type Client,
  type ListCallOptions,
  type ObjectList,
  type WatchCallOptions,
  type WatchEvent,
} from "../client.ts";
import { decodeMetadata, type Metadata, malformed, serverName } from "./decode-metadata.ts";
import { checkedList } from "./metadata-client.ts";
import { type ServerRoom, type ServerRooms } from "./server-room.ts";

/** How much is kept of all objects of one server. */
export const serverLimits = { objects: 100_000, bytes: 64 << 20 };
/** So long a kind that was too large is left alone. */
const retryMs = 600_000;
const logMs = 60_000;

export interface BoundedDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly limits?: typeof serverLimits;
}

/**
 * A client for one informer of a kind of another server. The informer gets only the metadata; malformed objects are
 * dropped. If the server has more objects than may be kept, the informer is empty for a while, as if the kind had none.
 */
export function boundedMetadata(
  client: Client,
  resource: Resource,
  deps: BoundedDeps & { readonly rooms: ServerRooms },
) {
  const kept = new Kept(resource, deps);
  return {
    client: {
      ...client,
      list: (_: unknown, options: ListCallOptions = {}) => kept.list(client, options),
      watch: (_: unknown, options: WatchCallOptions) => kept.watch(client, options),
    } as unknown as Client,
    close: () => kept.clear(),
  };
}

/** What the informer of a kind keeps. */
class Kept {
  readonly #resource: Resource;
  readonly #deps: BoundedDeps;
  readonly #room: ServerRoom;
  readonly #bytes = new Map<string, number>();
  #isFull = false;
  #dropped = 0;
  #nextLogMs = 0;

  constructor(resource: Resource, deps: BoundedDeps & { readonly rooms: ServerRooms }) {
    this.#resource = resource;
    this.#deps = deps;
    this.#room = deps.rooms.of(resource);
  }

  clear(): void {
    this.#room.objects -= this.#bytes.size;
    for (const bytes of this.#bytes.values()) this.#room.bytes -= bytes;
    this.#bytes.clear();
  }

  async list(client: Client, options: ListCallOptions): Promise<ObjectList<ApiObject>> {
    if (this.#isFull) return { items: [], metadata: { resourceVersion: "0" } };
    const leave = await this.#room.enter(options.signal);
    const answer = await client.list(this.#resource, options).finally(leave);
    const { items, metadata } = checkedList(this.#resource, answer);
    if (!options.continue) this.clear();
    const known = items.flatMap((item) => this.#decode(item) ?? []);
    // Otherwise the pages could go on forever.
    if (metadata.continue && known.length === 0) throw malformed(this.#resource, "its list has a page without objects");
    for (const item of known) {
      if (this.#bytes.has(keyOf(item.object))) throw malformed(this.#resource, "its list has an object twice");
      this.#take(item);
    }
    return { items: known.map(({ object }) => object), metadata };
  }

  async *watch(client: Client, options: WatchCallOptions): AsyncGenerator<WatchEvent<ApiObject>> {
    if (this.#isFull) return yield* this.#nothing(options);
    if (options.sendInitialEvents) this.clear();
    const leave = options.sendInitialEvents ? await this.#room.enter(options.signal) : () => undefined;
    try {
      for await (const event of client.watch(this.#resource, options)) {
        if (event.type === "BOOKMARK") leave();
        const kept = this.#keep(event);
        if (kept) yield kept;
      }
    } finally {
      leave();
    }
  }

  #keep(event: WatchEvent<ApiObject>): WatchEvent<ApiObject> | undefined {
    if (event.type === "BOOKMARK") return event;
    const known = this.#decode(event.object);
    if (!known) return undefined;
    if (event.type === "DELETED") this.#drop(known);
    else this.#take(known);
    return { type: event.type, object: known.object };
  }

  async *#nothing({ sendInitialEvents, signal }: WatchCallOptions): AsyncGenerator<WatchEvent<ApiObject>> {
    if (sendInitialEvents) yield { type: "BOOKMARK", resourceVersion: "0", initialEventsEnd: true };
    await this.#deps.clock.sleep(retryMs, signal);
    this.#isFull = false;
    throw startOver();
  }

  #decode(raw: unknown): Metadata | undefined {
    try {
      return decodeMetadata(this.#resource, raw);
    } catch (error) {
      this.#dropped++;
      const nowMs = this.#deps.clock.now();
      if (nowMs < this.#nextLogMs) return undefined;
      this.#nextLogMs = nowMs + logMs;
      const facts = { server: serverName(this.#resource), kind: this.#resource.kind, dropped: this.#dropped, error };
      this.#deps.log.warn("malformed objects of another server were dropped", facts);
      return undefined;
    }
  }

  #take({ object, bytes }: Metadata): void {
    const key = keyOf(object);
    const old = this.#bytes.get(key);
    this.#bytes.set(key, bytes);
    this.#room.bytes += bytes - (old ?? 0);
    if (old === undefined) this.#room.objects++;
    const { limits = serverLimits } = this.#deps;
    if (this.#room.objects <= limits.objects && this.#room.bytes <= limits.bytes) return;
    this.#giveUp();
    throw startOver();
  }

  #giveUp(): void {
    const { objects, bytes } = this.#room;
    const facts = { server: serverName(this.#resource), kind: this.#resource.kind, objects, bytes };
    this.#deps.log.error("another server has too many objects, so a kind of it is not garbage collected", facts);
    this.clear();
    this.#isFull = true;
  }

  #drop({ object }: Metadata): void {
    const key = keyOf(object);
    const bytes = this.#bytes.get(key);
    if (bytes === undefined) return;
    this.#bytes.delete(key);
    this.#room.objects--;
    this.#room.bytes -= bytes;
  }
}

/** The informer keeps two objects of the same name while it reads, if they have different uids. */
const keyOf = ({ metadata: { namespace = "", name = "", uid = "" } }: ApiObject): string =>
  `${namespace}/${name}/${uid}`;

const startOver = (): StatusError => new StatusError("Expired", "the objects must be read again");
