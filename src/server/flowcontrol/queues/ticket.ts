import { type UserInfo } from "#api/exchange.ts";
import { type RequestInfo } from "#server/request/pipeline.ts";
import { type Work } from "../estimate-work.ts";

/** The requests of one FlowSchema in one priority level. */
export class Tally {
  readonly level: string;
  readonly schema: string;
  waiting = 0;
  seatsWaiting = 0;
  executing = 0;
  seatsInUse = 0;
  dispatched = 0;
  /** How often the next request had to wait for seats. */
  lacked = 0;
  readonly rejected: Record<Rejection, number> = { "concurrency-limit": 0, "queue-full": 0, "time-out": 0 };

  constructor(level: string, schema: string) {
    this.level = level;
    this.schema = schema;
  }
}
export type Rejection = "concurrency-limit" | "queue-full" | "time-out";

/** What is known about a request when it asks for seats. */
export interface Asking {
  readonly tally: Tally;
  /** The user or the namespace; "" if all requests of the FlowSchema are one flow. */
  readonly distinguisher: string;
  /** The queues of the flow; none if the level has no queues. */
  readonly hand: readonly number[];
  readonly work: Work;
  readonly user: UserInfo;
  readonly info: RequestInfo;
  /** A component in this process waits however long its queue is, because it limits itself. */
  readonly isPatient: boolean;
}

/** One of the queues of a priority level. */
export class Queue {
  readonly index: number;
  readonly waiting = new Set<Ticket>();
  readonly executing = new Set<Ticket>();
  /** The first of those that wait. */
  oldest: Ticket | undefined;
  seatsInUse = 0;
  seatsWaiting = 0;
  /** The work of those that wait, in seats times milliseconds. */
  workWaiting = 0;
  /** When its next request would start if all queues were served evenly, in the virtual time of the level. */
  nextStart = 0;

  constructor(index: number) {
    this.index = index;
  }
  get isActive(): boolean {
    return this.waiting.size + this.executing.size > 0;
  }
  /** Called when `waiting` has changed. */
  findOldest(): void {
    this.oldest = this.waiting.values().next().value;
  }
}

/** How long a request is expected to take, until it is known. */
export const expectedMs = 3;

/** A request that waits for its seats or has them. */
export class Ticket {
  /** Where its seats are. */
  readonly set: { finish(ticket: Ticket, bytes: number): void };
  readonly asking: Asking;
  readonly queue: Queue | undefined;
  readonly arrivedMs: number;
  /** In the virtual time of the level. */
  readonly arrivedAt: number;
  startedMs = 0;
  startedTurn = -1;
  hasStarted = false;
  isOver = false;
  finalSeats: number;
  finalMs: number;
  /** The most that it takes at a time. */
  seats: number;
  /** In seats times milliseconds. */
  readonly totalWork: number;
  /** Called when it gets its seats, while it waits. */
  go: (() => void) | undefined;

  constructor(set: Ticket["set"], asking: Asking, arrived: { queue: Queue | undefined; ms: number; at: number }) {
    this.set = set;
    this.asking = asking;
    this.queue = arrived.queue;
    this.arrivedMs = arrived.ms;
    this.arrivedAt = arrived.at;
    const { seats, finalSeats, finalMs } = asking.work;
    this.finalSeats = finalSeats;
    this.finalMs = finalMs;
    this.seats = Math.max(seats, finalSeats);
    this.totalWork = seats * expectedMs + finalSeats * finalMs;
  }

  finish(bytes = 0): void {
    this.set.finish(this, bytes);
  }

  /** The same work on fewer seats takes longer. */
  fit(limit: number): void {
    if (this.finalSeats <= limit || limit <= 0) return;
    this.finalMs = (this.finalMs * this.finalSeats) / limit;
    this.finalSeats = limit;
    this.seats = Math.max(this.asking.work.seats, limit);
  }
}
