import { type Clock } from "#lib/async/clock.ts";
import { LruMap } from "#lib/data/lru-map.ts";

/** How many questions a client may send in a burst, and per second after that. */
const burst = 2_000;
const perSecond = 1_000;
/** How many questions may wait for another server: of one client, of all, and of one client when many wait. */
const maxWaiting = { client: 100, all: 2_000, clientWhenBusy: 10, busyFrom: 500 };
const rememberedClients = 4_096;

export interface Client {
  tokens: number;
  atMs: number;
  waiting: number;
}

/** Prevents one client from using so much of the server that others get no answer. */
export class ClientLimits {
  readonly #clock: Clock;
  readonly #clients = new LruMap<string, Client>(rememberedClients);
  #waiting = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the client, or undefined if it has exceeded its rate. */
  admit(address: string): Client | undefined {
    const nowMs = this.#clock.now();
    const client = this.#clients.get(address) ?? { tokens: burst, atMs: nowMs, waiting: 0 };
    client.tokens = Math.min(burst, client.tokens + ((nowMs - client.atMs) * perSecond) / 1_000);
    client.atMs = nowMs;
    this.#clients.set(address, client);
    if (client.tokens < 1) return undefined;
    client.tokens--;
    return client;
  }

  /** Whether a question of the client may wait for another server. The cluster's own names need not. */
  mayWait(client: Client): boolean {
    return client.waiting < this.#mostWaiting();
  }

  /** Counts a question while it waits. */
  async wait<T>(client: Client, answer: Promise<T>): Promise<T> {
    client.waiting++;
    this.#waiting++;
    try {
      return await answer;
    } finally {
      client.waiting--;
      this.#waiting--;
    }
  }

  #mostWaiting(): number {
    if (this.#waiting >= maxWaiting.all) return 0;
    return this.#waiting >= maxWaiting.busyFrom ? maxWaiting.clientWhenBusy : maxWaiting.client;
  }
}
