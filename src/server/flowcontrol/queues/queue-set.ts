import { type Clock } from "#lib/async/clock.ts";
import { Demand } from "../limits/demand.ts";
import { type KindTimes, LevelTimes, type Phase } from "../usage-times.ts";
import { type Pace, type Paced } from "./pace.ts";
import { type Asking, expectedMs, Queue, type Rejection, Ticket } from "./ticket.ts";

/** How a priority level treats requests beyond its limit. */
export type Response =
  | { readonly type: "Exempt" }
  | { readonly type: "Reject" }
  | { readonly type: "Queue"; readonly queues: number; readonly handSize: number; readonly queueLength: number };

/** How much of a turn of the event loop the level may take. */
export interface Budget {
  /** While others wait too. */
  readonly partMs: number;
  /** While only requests of components in this process wait, and no other level has any. */
  readonly wholeMs: number;
}

/** A request that took several turns counts as this much of the turn in which it ends. */
const spreadMs = 0.5;

/** How much of a response is encrypted and sent in a millisecond: that happens in the same thread, after its request. */
const sentBytesPerMs = 512 << 10;

/** A ticket, which has its seats or waits for them, or the reason why not. */
export type Started = Ticket | Rejection;

/**
 * The seats of one priority level and the queues in front of them. Queues are served by fair queueing: the next request
 * is the one that would end first if all queues with requests were served evenly and at the same time. That virtual time
 * advances with the seats that each queue could have.
 *
 *   flow ─→ hand of queues ─→ the least loaded one ─→ [t t t] ─┐
 *   flow ─→ …                                         [t]     ─┼→ earliest virtual end ─→ seats
 */
export class QueueSet implements Paced {
  readonly demand: Demand;
  readonly times = new LevelTimes();
  /** Shared by all levels. */
  kinds: KindTimes | undefined;
  response: Response = { type: "Reject" };
  /** Those with requests or seats, by index. */
  readonly queues = new Map<number, Queue>();
  /** Those that had no queue. */
  readonly unqueued = new Set<Ticket>();
  limit = 0;
  waiting = 0;
  executing = 0;
  seatsInUse = 0;
  dispatched = 0;
  rejected = 0;
  cancelled = 0;
  /** The virtual time: how much work a queue that always had requests would have got. */
  virtual = 0;
  /** The last start from a queue in virtual time: when it was, and when it would have been. */
  readonly lastStart = { at: 0, planned: 0 };
  /** Told of every request that is done. */
  onFinish: ((ticket: Ticket, now: number) => void) | undefined;
  readonly #clock: Clock;
  readonly #pace: Pace;
  #budget: Budget = { partMs: 0, wholeMs: 0 };
  #usedMs = 0;
  #turn = -1;
  #seatsWaiting = 0;
  /** Requests of clients that wait; the others are of components in this process. */
  #clientsWaiting = 0;
  #activeQueues = 0;
  #syncedMs: number;
  /** Where to look first among equals. */
  #robin = 0;
  #arrivals = 0;

  constructor(clock: Clock, pace: Pace) {
    this.#clock = clock;
    this.#pace = pace;
    this.#syncedMs = pace.now();
    this.demand = new Demand(this.#syncedMs);
  }

  get seatsWaiting(): number {
    return this.#seatsWaiting;
  }
  get isIdle(): boolean {
    return this.waiting + this.executing === 0;
  }

  configure(limit: number, budget: Budget): void {
    this.#sync(this.#pace.now());
    this.limit = limit;
    this.#budget = budget;
    this.dispatch();
  }

  /** Takes the seats, or a place in a queue. */
  start(asking: Asking): Started {
    const now = this.#pace.now();
    this.#sync(now);
    if (this.response.type !== "Queue") return this.#startUnqueued(asking, now);
    const queue = this.#shortest(asking.hand);
    const isFull = queue.waiting.size >= this.response.queueLength;
    if (isFull && !asking.isPatient && (this.seatsInUse >= this.limit || !this.#hasTime)) {
      return this.#reject(asking, "queue-full");
    }
    const ticket = new Ticket(this, asking, { queue, ms: now, at: this.virtual });
    this.#enqueue(ticket, queue);
    this.dispatch();
    return ticket;
  }

  /** The earliest and the latest virtual start of the queues with requests; discounted by the work in progress. */
  startBounds(isDiscounted: boolean): readonly [least: number, most: number] | undefined {
    const starts = [...this.queues.values()]
      .filter(({ oldest }) => oldest)
      .map(({ nextStart, executing }) => nextStart - (isDiscounted ? workOf(executing) : 0));
    return starts.length > 0 ? [Math.min(...starts), Math.max(...starts)] : undefined;
  }

  /** Gives up waiting. */
  cancel(ticket: Ticket): void {
    const { queue } = ticket;
    if (!queue?.waiting.has(ticket)) return;
    this.#sync(this.#pace.now());
    this.#dequeue(ticket, queue);
    ticket.isOver = true;
    this.cancelled++;
    this.#reject(ticket.asking, "time-out");
    this.#tidy(queue);
    this.#noteDemand();
  }

  /** The request is done, and its response has so many bytes. Seats that its events still need are given back later. */
  finish(ticket: Ticket, bytes = 0): void {
    if (ticket.isOver) return;
    ticket.isOver = true;
    const now = this.#pace.now();
    this.#sync(now);
    const { queue, asking } = ticket;
    const tookMs = now - ticket.startedMs;
    this.onFinish?.(ticket, now);
    this.#charge(ticket, tookMs, bytes / sentBytesPerMs);
    this.executing--;
    asking.tally.executing--;
    this.#count("executing", ticket, -1);
    if (queue) {
      queue.executing.delete(ticket);
      queue.nextStart -= asking.work.seats * (expectedMs - tookMs);
      bound(queue);
      if (!queue.isActive) this.#activeQueues--;
    } else this.unqueued.delete(ticket);
    if (ticket.finalMs > 0) this.#clock.after(ticket.finalMs, () => this.#releaseAt(ticket, this.#pace.now()));
    else this.#releaseAt(ticket, now);
  }

  /** Starts what has seats, and time in this turn. */
  dispatch(): void {
    while (this.waiting > 0 && this.seatsInUse < this.limit) {
      if (!this.#hasTime) return this.#pace.wait(this);
      const ticket = this.#dispatchNext();
      if (!ticket) return;
      if (ticket.go) {
        ticket.go();
        return this.#pace.resume(this);
      }
    }
  }

  #startUnqueued(asking: Asking, now: number): Started {
    if (!asking.isPatient && !this.#fits(Math.max(asking.work.seats, asking.work.finalSeats))) {
      return this.#reject(asking, "concurrency-limit");
    }
    const ticket = new Ticket(this, asking, { queue: undefined, ms: now, at: this.virtual });
    this.unqueued.add(ticket);
    this.#execute(ticket, now);
    return ticket;
  }

  /** The queue of the hand with the least work; created if it was empty. */
  #shortest(hand: readonly number[]): Queue {
    const offset = this.#arrivals++;
    let index = 0;
    let least = Number.POSITIVE_INFINITY;
    for (let i = 0; i < hand.length && least > 0; i++) {
      const card = hand[(offset + i) % hand.length] ?? 0;
      const work = this.queues.get(card)?.workWaiting ?? 0;
      if (work < least) {
        least = work;
        index = card;
      }
    }
    let queue = this.queues.get(index);
    if (!queue) {
      queue = new Queue(index);
      this.queues.set(index, queue);
    }
    return queue;
  }

  #enqueue(ticket: Ticket, queue: Queue): void {
    if (!queue.isActive) {
      queue.nextStart = this.virtual;
      this.#activeQueues++;
    }
    const { tally } = ticket.asking;
    queue.waiting.add(ticket);
    queue.oldest ??= ticket;
    queue.seatsWaiting += ticket.seats;
    queue.workWaiting += ticket.totalWork;
    this.waiting++;
    this.#seatsWaiting += ticket.seats;
    tally.waiting++;
    tally.seatsWaiting += ticket.seats;
    this.#noteWaiting(ticket, 1);
    bound(queue);
    this.#noteDemand();
  }

  #dequeue(ticket: Ticket, queue: Queue): void {
    const { tally } = ticket.asking;
    queue.waiting.delete(ticket);
    if (queue.oldest === ticket) queue.findOldest();
    queue.seatsWaiting -= ticket.seats;
    queue.workWaiting = queue.waiting.size === 0 ? 0 : queue.workWaiting - ticket.totalWork;
    this.waiting--;
    this.#seatsWaiting -= ticket.seats;
    tally.waiting--;
    tally.seatsWaiting -= ticket.seats;
    this.#noteWaiting(ticket, -1);
    if (!queue.isActive) this.#activeQueues--;
  }

  #noteWaiting(ticket: Ticket, by: number): void {
    if (!ticket.asking.isPatient) this.#clientsWaiting += by;
    this.#pace.wants(this, this.waiting > 0);
    this.#count("waiting", ticket, by);
  }

  /** undefined if the next request needs more seats than are free. */
  #dispatchNext(): Ticket | undefined {
    const queue = this.#next();
    const ticket = queue?.oldest;
    if (!queue || !ticket) return undefined;
    if (!this.#fits(ticket.seats)) {
      ticket.asking.tally.lacked++;
      return undefined;
    }
    this.#robin = queue.index;
    queue.executing.add(ticket);
    this.#dequeue(ticket, queue);
    ticket.fit(this.limit);
    queue.seatsInUse += ticket.seats;
    this.lastStart.at = this.virtual;
    this.lastStart.planned = queue.nextStart;
    queue.nextStart += ticket.totalWork;
    bound(queue);
    this.#execute(ticket, this.#pace.now());
    return ticket;
  }

  /** The queue whose oldest request has the earliest virtual end; among equals, the next one after the last served. */
  #next(): Queue | undefined {
    let best: Queue | undefined;
    let earliest = Number.POSITIVE_INFINITY;
    for (const queue of this.queues.values()) {
      const { oldest } = queue;
      if (!oldest) continue;
      const end = queue.nextStart + oldest.totalWork;
      if (end < earliest || (end === earliest && best && this.#isBefore(queue, best))) {
        earliest = end;
        best = queue;
      }
    }
    return best;
  }
  #isBefore(a: Queue, b: Queue): boolean {
    const isLater = (queue: Queue): boolean => queue.index > this.#robin;
    return isLater(a) === isLater(b) ? a.index < b.index : isLater(a);
  }

  #execute(ticket: Ticket, now: number): void {
    const { tally } = ticket.asking;
    ticket.hasStarted = true;
    ticket.startedMs = now;
    ticket.startedTurn = this.response.type === "Exempt" ? -1 : this.#pace.turn;
    this.executing++;
    this.seatsInUse += ticket.seats;
    this.dispatched++;
    tally.executing++;
    this.#count("executing", ticket, 1);
    tally.seatsInUse += ticket.seats;
    tally.dispatched++;
    this.#noteDemand();
  }

  #releaseAt(ticket: Ticket, now: number): void {
    const { queue } = ticket;
    this.#sync(now);
    this.seatsInUse -= ticket.seats;
    ticket.asking.tally.seatsInUse -= ticket.seats;
    if (queue) {
      queue.seatsInUse -= ticket.seats;
      this.#tidy(queue);
    }
    this.#noteDemand();
    this.dispatch();
  }

  #reject(asking: Asking, reason: Rejection): Rejection {
    this.rejected++;
    asking.tally.rejected[reason]++;
    return reason;
  }

  #fits(seats: number): boolean {
    if (this.response.type === "Exempt") return true;
    // A request that is larger than the level runs alone.
    return seats > this.limit ? this.executing === 0 : this.seatsInUse + seats <= this.limit;
  }

  get #hasTime(): boolean {
    return this.#turn !== this.#pace.turn || this.#usedMs < this.#turnMs;
  }

  /** Components limit themselves, and work in larger pieces costs them and the disk less. */
  get #turnMs(): number {
    const isTheirs = this.#clientsWaiting === 0 && this.#pace.isAlone(this);
    return isTheirs ? this.#budget.wholeMs : this.#budget.partMs;
  }

  #charge(ticket: Ticket, tookMs: number, sendMs: number): void {
    if (ticket.startedTurn < 0) return;
    const { turn } = this.#pace;
    if (this.#turn !== turn) {
      this.#turn = turn;
      this.#usedMs = 0;
    }
    this.#usedMs += sendMs + (ticket.startedTurn === turn ? tookMs : Math.min(tookMs, spreadMs));
  }

  #count(phase: Phase, { asking }: Ticket, by: number): void {
    const { verb } = asking.info;
    const isRead = verb === "get" || verb === "list" || verb === "watch";
    this.kinds?.add(phase, isRead ? "readOnly" : "mutating", by, this.#syncedMs);
  }

  /** Lets the times pass until now, for whoever reads them. */
  catchUp(): void {
    this.#sync(this.#pace.now());
    this.kinds?.pass(this.#syncedMs);
  }

  /** Lets virtual time pass as it did since the last change. */
  #sync(now: number): void {
    const ms = now - this.#syncedMs;
    this.#syncedMs = now;
    if (ms <= 0) return;
    this.times.pass(ms, this);
    if (this.#activeQueues === 0) return;
    const seats = Math.min(this.seatsInUse + this.#seatsWaiting, this.limit);
    this.virtual += (ms * seats) / this.#activeQueues;
  }

  #noteDemand(): void {
    this.demand.set(this.seatsInUse + this.#seatsWaiting, this.#syncedMs);
  }

  #tidy(queue: Queue): void {
    if (!queue.isActive && queue.seatsInUse === 0) this.queues.delete(queue.index);
  }
}

function workOf(tickets: Iterable<Ticket>): number {
  let sum = 0;
  for (const { totalWork } of tickets) sum += totalWork;
  return sum;
}

/** A queue that could not use its part gains nothing from it: no request starts before it arrived. */
function bound(queue: Queue): void {
  const { oldest } = queue;
  if (oldest && queue.nextStart < oldest.arrivedAt) queue.nextStart = oldest.arrivedAt;
}
