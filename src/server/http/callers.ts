import { type UserInfo } from "#api/exchange.ts";
import { type StatusError, tooManyRequests } from "#api/status.ts";
import { anonymousUser } from "#server/authenticate/anonymous.ts";
import { type Limits } from "./limits.ts";

/** What one user, the accounts of one namespace, or one address without a user currently holds of the server. */
export interface Caller {
  readonly isKnown: boolean;
  /** A node, an administrator, or a part of the control plane. */
  readonly isComponent: boolean;
  connections: number;
  requests: number;
  watches: number;
  bodyBytes: number;
  unsentBytes: number;
  /** Unread events of watches. */
  unreadBytes: number;
  largeBodies: number;
  /** A response that had to wait for room is being made: the next waits until it counts. */
  isAnswering: boolean;
}

/** Waits for a place for a large body. */
interface Place {
  readonly caller: Caller;
  readonly go: () => void;
}

const accountPrefix = "system:serviceaccount:";

/**
 * The owner of a user's limits. The service accounts of a namespace share theirs, because anyone who may create
 * accounts there can have any number of them.
 */
export function ownerOf(userName: string): string {
  if (!userName.startsWith(accountPrefix)) return userName;
  return userName.slice(0, userName.indexOf(":", accountPrefix.length) + 1) || userName;
}

/** Only an administrator gives out such names and groups. */
const isComponent = ({ name, groups }: UserInfo): boolean =>
  groups.includes("system:masters") ||
  (name.startsWith("system:") && !name.startsWith(accountPrefix) && name !== anonymousUser.name);

/** Something that waits until there is room; asked again whenever one of those it waits for gives some back. */
export interface Wait {
  /** What it waits for: a caller, a connection, or the room of all (`answers`, `events`). */
  readonly reasons: readonly (object | "answers" | "events")[];
  isFree(): boolean;
  /** Called before the others are asked: what this one takes is not free for them. */
  take?(): void;
}
interface Waiter extends Wait {
  readonly go: () => void;
}

/** Counts what callers hold, and refuses or delays what would be too much. */
export class Callers {
  readonly limits: Limits;
  readonly #users = new Map<string, Caller>();
  readonly #addresses = new Map<string, Caller>();
  /** By each of their reasons, oldest first. */
  readonly #waiting = new Map<Wait["reasons"][number], Set<Waiter>>();
  /** Oldest first. */
  readonly #waitingBodies = new Set<Place>();
  #watches = 0;
  #bodyBytes = 0;
  #unsentBytes = 0;
  #unreadBytes = 0;
  #largeBodies = 0;

  constructor(limits: Limits) {
    this.limits = limits;
  }

  /** About what is kept until callers have sent or read the rest. What responses share counts for each of them. */
  get heldBytes(): number {
    return this.#bodyBytes + this.#unsentBytes + this.#unreadBytes;
  }

  /** Two maps, so that no user's name can be mistaken for an address. */
  of(user: UserInfo, address: string): Caller {
    const isKnown = user.name !== anonymousUser.name;
    const [map, key] = isKnown ? [this.#users, ownerOf(user.name)] : [this.#addresses, address];
    let caller = map.get(key);
    if (!caller) {
      caller = { isKnown, isComponent: isComponent(user), ...nothing };
      map.set(key, caller);
    }
    return caller;
  }

  /** Drops callers that hold nothing. */
  prune(): void {
    for (const map of [this.#users, this.#addresses]) {
      for (const [key, caller] of map) if (isIdle(caller)) map.delete(key);
    }
  }

  beginRequest(caller: Caller): void {
    if (caller.requests >= this.limits.requestsPerUser) throw tooMuch("requests in progress");
    caller.requests++;
  }
  endRequest(caller: Caller): void {
    caller.requests--;
  }

  /** Returns a function that ends the watch. One that takes more memory than others counts as several. */
  beginWatch(caller: Caller, count = 1): () => void {
    const { watches, watchesPerUser, watchesPerAddress, watchesAlways } = this.limits;
    const most = caller.isKnown ? watchesPerUser : watchesPerAddress;
    const isFull = this.#watches >= watches && caller.watches >= watchesAlways;
    if (caller.watches >= most || isFull) throw tooMuch("watches open");
    caller.watches += count;
    this.#watches += count;
    return () => {
      caller.watches -= count;
      this.#watches -= count;
    };
  }

  /** Counts more received bytes of a body. */
  addBody(caller: Caller, bytes: number): void {
    const { bodyBytes, bodyBytesPerUser, bodyBytesAlways } = this.limits;
    const own = caller.bodyBytes + bytes;
    const isFull = this.#bodyBytes + bytes > bodyBytes && own > bodyBytesAlways;
    if (own > bodyBytesPerUser || isFull) throw tooMuch("bytes of request bodies in progress");
    caller.bodyBytes = own;
    this.#bodyBytes += bytes;
  }
  removeBody(caller: Caller, bytes: number): void {
    caller.bodyBytes -= bytes;
    this.#bodyBytes -= bytes;
  }

  /** Resolves once a place for a large body is free, and takes it. */
  async takeLargePlace(caller: Caller, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const place = { caller, go: resolve };
    const leave = () => {
      if (this.#waitingBodies.delete(place)) reject(signal.reason);
    };
    signal.addEventListener("abort", leave, { once: true });
    this.#waitingBodies.add(place);
    this.#fillLargePlaces();
    await promise;
    signal.removeEventListener("abort", leave);
  }
  giveLargePlace(caller: Caller): void {
    caller.largeBodies--;
    this.#largeBodies--;
    this.#fillLargePlaces();
  }

  /** A free place goes to the caller with the fewest, and among equals to the one that has waited longest. */
  #fillLargePlaces(): void {
    const { largeBodies, largeBodiesPerUser } = this.limits;
    while (this.#largeBodies < largeBodies) {
      let next: Place | undefined;
      for (const place of this.#waitingBodies) {
        if (place.caller.largeBodies < (next?.caller.largeBodies ?? largeBodiesPerUser)) next = place;
      }
      if (!next) return;
      this.#waitingBodies.delete(next);
      next.caller.largeBodies++;
      this.#largeBodies++;
      next.go();
    }
  }

  /** Whether the caller may get another response before it has read the previous ones. */
  hasRoom(caller: Caller): boolean {
    const { unsentBytes, unsentBytesPerUser, unsentBytesAlways } = this.limits;
    if (caller.unsentBytes <= unsentBytesAlways) return true;
    return caller.unsentBytes <= unsentBytesPerUser && this.#unsentBytes <= unsentBytes;
  }
  /** The response counts now, or never will: the next waiting one may check for room. */
  endAnswering(caller: Caller): void {
    caller.isAnswering = false;
    this.#wake(caller);
  }
  addUnsent(caller: Caller, bytes: number): void {
    caller.unsentBytes += bytes;
    this.#unsentBytes += bytes;
  }
  removeUnsent(caller: Caller, bytes: number): void {
    const wasFull = this.#unsentBytes > this.limits.unsentBytes;
    caller.unsentBytes -= bytes;
    this.#unsentBytes -= bytes;
    this.#wake(wasFull && this.#unsentBytes <= this.limits.unsentBytes ? "answers" : caller);
  }
  /** Something that was sent over a connection has been taken. */
  freed(connection: object): void {
    this.#wake(connection);
  }

  /** Whether the caller may get more watch events before it has read the previous ones. */
  hasRoomForEvents({ unreadBytes }: Caller): boolean {
    const { unsentBytes, unsentBytesPerUser, unsentBytesAlways } = this.limits;
    if (unreadBytes <= unsentBytesAlways) return true;
    return unreadBytes <= unsentBytesPerUser && this.#unreadBytes <= unsentBytes;
  }
  changeUnread(caller: Caller, bytes: number): void {
    const wasFull = this.#unreadBytes > this.limits.unsentBytes;
    caller.unreadBytes += bytes;
    this.#unreadBytes += bytes;
    if (bytes < 0) this.#wake(wasFull && this.#unreadBytes <= this.limits.unsentBytes ? "events" : caller);
  }

  /** Waits until the condition holds; rejects with the signal. */
  wait(wait: Wait, signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    if (signal.aborted) return Promise.reject(signal.reason);
    const settle = (): void => {
      this.#forget(waiter);
      signal.removeEventListener("abort", leave);
    };
    const go = (): void => {
      settle();
      wait.take?.();
      resolve();
    };
    const leave = (): void => {
      settle();
      reject(signal.reason);
    };
    const waiter: Waiter = { reasons: wait.reasons, isFree: () => wait.isFree(), go };
    for (const reason of wait.reasons) this.#waitingFor(reason).add(waiter);
    signal.addEventListener("abort", leave, { once: true });
    return promise;
  }

  #waitingFor(reason: Wait["reasons"][number]): Set<Waiter> {
    const known = this.#waiting.get(reason);
    if (known) return known;
    const waiters = new Set<Waiter>();
    this.#waiting.set(reason, waiters);
    return waiters;
  }

  #forget(waiter: Waiter): void {
    for (const reason of waiter.reasons) {
      const waiters = this.#waiting.get(reason);
      waiters?.delete(waiter);
      if (waiters?.size === 0) this.#waiting.delete(reason);
    }
  }

  #wake(reason: Wait["reasons"][number]): void {
    for (const waiter of this.#waiting.get(reason) ?? []) if (waiter.isFree()) waiter.go();
  }
}

const nothing = {
  connections: 0,
  requests: 0,
  watches: 0,
  bodyBytes: 0,
  unsentBytes: 0,
  unreadBytes: 0,
  largeBodies: 0,
  isAnswering: false,
};

const isIdle = (caller: Caller): boolean =>
  caller.connections + caller.requests + caller.watches + caller.bodyBytes + caller.unsentBytes + caller.largeBodies ===
  0;

const tooMuch = (what: string): StatusError =>
  tooManyRequests(`too many ${what} for this user, please try again later`);
