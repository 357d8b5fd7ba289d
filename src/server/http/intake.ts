import { realFineNow } from "#lib/async/real-timers.ts";
import { type Loop, nodeLoop } from "#lib/async/turns.ts";

/** Whose request it is, as far as its connection tells. */
export type Rank = "component" | "user" | "stranger";

/** How long after its first request a turn of the event loop may start further ones, by whose they are. */
const turnMs: Readonly<Record<Rank, number>> = { component: 6, user: 4, stranger: 2 };
const ranks: readonly Rank[] = ["component", "user", "stranger"];

export interface Arrival {
  readonly rank: Rank;
  /** Those who wait take turns by owner, however much each of them has. */
  readonly owner: object | string;
  /** What it costs later, beyond the time that `start` takes. */
  readonly laterMs?: number;
  start(): void;
}

/**
 * Starts requests as they arrive, as long as the turn of the event loop is short. One turn reads from all sockets, which
 * can be thousands of requests: each is cheap to refuse, but together they would hold up the lease of a node that is
 * among them. Those beyond a few milliseconds wait for the next turn.
 */
export class Intake {
  readonly #now: () => number;
  readonly #loop: Loop;
  readonly #waiting: Readonly<Record<Rank, Ring>> = { component: new Ring(), user: new Ring(), stranger: new Ring() };
  /** When the turn began, without what is still to come of it. */
  #beganMs = 0;
  #isCounting = false;

  constructor(now: () => number = realFineNow, loop: Loop = nodeLoop) {
    this.#now = now;
    this.#loop = loop;
  }

  take(arrival: Arrival): void {
    if (!this.#isCounting) this.#begin();
    const ring = this.#waiting[arrival.rank];
    if (ring.isEmpty && this.#hasTime(arrival.rank)) this.#start(arrival);
    else ring.add(arrival);
  }

  #begin(): void {
    this.#isCounting = true;
    this.#beganMs = this.#now();
    this.#loop.afterTurn(() => this.#end());
  }

  #end(): void {
    this.#isCounting = false;
    if (ranks.every((rank) => this.#waiting[rank].isEmpty)) return;
    this.#begin();
    this.#resume(new Set(ranks));
  }

  /** Each rank that waits gets at least one request in a turn, so that none waits for ever. */
  #resume(unserved: Set<Rank>): void {
    const rank = ranks.find((each) => !this.#waiting[each].isEmpty && (unserved.has(each) || this.#hasTime(each)));
    const arrival = rank && this.#waiting[rank].take();
    if (!rank || !arrival) return;
    unserved.delete(rank);
    this.#start(arrival);
    // Only then is it known how long it took.
    this.#loop.afterPromises(() => this.#resume(unserved));
  }

  #start(arrival: Arrival): void {
    this.#beganMs -= arrival.laterMs ?? 0;
    arrival.start();
  }

  #hasTime(rank: Rank): boolean {
    return this.#now() - this.#beganMs < turnMs[rank];
  }
}

/** Arrivals by owner; the owners take turns. */
class Ring {
  readonly #byOwner = new Map<object | string, Arrival[]>();

  get isEmpty(): boolean {
    return this.#byOwner.size === 0;
  }

  add(arrival: Arrival): void {
    const known = this.#byOwner.get(arrival.owner);
    if (known) known.push(arrival);
    else this.#byOwner.set(arrival.owner, [arrival]);
  }

  take(): Arrival | undefined {
    const [next] = this.#byOwner;
    if (!next) return undefined;
    const [owner, own] = next;
    const arrival = own.shift();
    this.#byOwner.delete(owner);
    if (own.length > 0) this.#byOwner.set(owner, own);
    return arrival;
  }
}
