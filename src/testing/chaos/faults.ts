import { Event } from "#api/core/event.ts";
import { type ApiObject, type Resource } from "#api/resource.ts";
import { expired, forbidden, serviceUnavailable, staleObject } from "#api/status.ts";
import { type CallOptions, type Client, refOf, type WatchEvent } from "#client/client.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type Random } from "#lib/data/random.ts";

/** How often each fault occurs, as a share of all calls or of all watches. */
export interface FaultRates {
  /** One write in this many gets a conflict, on average. */
  readonly conflictEvery: number;
  readonly lostReply: number;
  readonly unavailable: number;
  readonly slow: number;
  readonly kill: number;
  /** The maximum lifetime of a watch in milliseconds. */
  readonly watchLifeMs: number;
  readonly watchLagMs: number;
  /** The share of new watches that get 410, because their history is gone. */
  readonly expired: number;
}

/** A write that was acknowledged. */
export interface Acknowledged {
  readonly key: string;
  readonly revision: number;
}

/** One run of a process. Once it is killed, none of its calls reach the server any more. */
export interface Life {
  readonly name: string;
  readonly signal: AbortSignal;
  kill(): void;
}

interface Sent {
  readonly resource: Resource;
  readonly life: Life;
  readonly signal: AbortSignal | undefined;
  /** Whether the server may answer that somebody else was faster; default true. */
  readonly isConditional?: boolean;
}

/** Sits between components and the server, and simulates networks, crashes and other writers. */
export class Faults {
  readonly acknowledged: Acknowledged[] = [];
  readonly counts = { conflicts: 0, lost: 0, refused: 0, slow: 0, kills: 0, cuts: 0, expired: 0 };
  isOn = false;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #rates: FaultRates;

  constructor(clock: Clock, random: Random, rates: FaultRates) {
    this.#clock = clock;
    this.#random = random;
    this.#rates = rates;
  }

  /** The client of one run of a process. */
  wrap(client: Client, life: Life): Client {
    const write = <T>(resource: Resource, options: CallOptions | undefined, send: () => Promise<T>): Promise<T> =>
      this.#write({ resource, life, signal: options?.signal }, send);
    return {
      ...client,
      get: (resource, ref, options) => this.#read(life, options, () => client.get(resource, ref, options)),
      list: (resource, options) => this.#read(life, options, () => client.list(resource, options)),
      watch: (resource, options) => this.#watch(client, { resource, life }, options),
      create: (resource, object, options) => write(resource, options, () => client.create(resource, object, options)),
      update: (resource, object, options) => write(resource, options, () => client.update(resource, object, options)),
      updateStatus: (resource, object, options) =>
        write(resource, options, () => client.updateStatus(resource, object, options)),
      patch: (resource, ref, patch, options) =>
        write(resource, options, () => client.patch(resource, ref, patch, options)),
      apply: (resource, object, options) => write(resource, options, () => client.apply(resource, object, options)),
      delete: (resource, ref, options) => write(resource, options, () => client.delete(resource, ref, options)),
      // No server answers this with a conflict.
      deleteCollection: (resource, options) =>
        this.#write({ resource, life, signal: options.signal, isConditional: false }, () =>
          client.deleteCollection(resource, options),
        ),
      createSubresource: (resource, ref, subresource, body, options) =>
        write(resource, options, () => client.createSubresource(resource, ref, subresource, body, options)),
    };
  }

  /** True for this share of all cases, and never while faults are off. */
  #happens(share: number): boolean {
    return this.#random() < share && this.isOn;
  }

  #upTo(ms: number): number {
    return Math.floor(this.#random() * ms);
  }

  async #read<T>(life: Life, options: CallOptions | undefined, send: () => Promise<T>): Promise<T> {
    life.signal.throwIfAborted();
    await this.#delay(options?.signal);
    if (this.#happens(this.#rates.unavailable)) throw this.#refuse();
    const answer = await send();
    life.signal.throwIfAborted();
    return answer;
  }

  async #write<T>({ resource, life, signal, isConditional = true }: Sent, send: () => Promise<T>): Promise<T> {
    this.#mustLive(resource, life);
    await this.#delay(signal);
    this.#mustLive(resource, life);
    if (this.#happens(this.#rates.kill)) this.#kill(life);
    this.#mustLive(resource, life);
    // At random: if it were each third one, a write and the two events about its failure could go round for ever.
    if (isConditional && this.#happens(1 / this.#rates.conflictEvery)) {
      this.counts.conflicts++;
      throw staleObject(resource, "something");
    }
    if (this.#happens(this.#rates.unavailable)) throw this.#refuse();
    const answer = await send();
    if (this.#happens(this.#rates.kill)) this.#kill(life);
    this.#mustLive(resource, life);
    await this.#delay(signal);
    this.#mustLive(resource, life);
    if (this.#happens(this.#rates.lostReply)) {
      this.counts.lost++;
      throw serviceUnavailable("the connection was lost before an answer came");
    }
    this.#acknowledge(resource, answer);
    return answer;
  }

  async *#watch<T extends ApiObject>(
    client: Client,
    { resource, life }: { resource: Resource<T>; life: Life },
    options: Parameters<Client["watch"]>[1],
  ): AsyncGenerator<WatchEvent<T>> {
    life.signal.throwIfAborted();
    if (this.#happens(this.#rates.expired)) {
      this.counts.expired++;
      throw expired("too old resource version");
    }
    const cut = new AbortController();
    const cancel = this.#clock.after(this.#upTo(this.#rates.watchLifeMs), () => {
      if (!this.isOn) return;
      this.counts.cuts++;
      cut.abort(new Error("the watch was cut"));
    });
    const signal = AbortSignal.any([options.signal, cut.signal, life.signal]);
    try {
      for await (const event of client.watch(resource, { ...options, signal })) {
        if (this.#happens(0.3)) await this.#clock.sleep(this.#upTo(this.#rates.watchLagMs), signal);
        yield event;
      }
      cut.signal.throwIfAborted();
    } finally {
      cancel();
    }
  }

  async #delay(signal: AbortSignal | undefined): Promise<void> {
    if (!this.#happens(this.#rates.slow)) return;
    this.counts.slow++;
    await this.#clock.sleep(1 + Math.floor(this.#random() ** 3 * 2000), signal);
  }

  #refuse(): Error {
    this.counts.refused++;
    return serviceUnavailable("the server is unavailable at the moment");
  }

  #kill(life: Life): void {
    this.counts.kills++;
    life.kill();
  }

  #mustLive(resource: Resource, { signal }: Life): void {
    if (!signal.aborted) return;
    // The events of a dead process are not awaited; this error ends their retries.
    if (resource.kind === Event.kind) throw forbidden(resource, "", "the process is dead");
    throw signal.reason;
  }

  #acknowledge(resource: Resource, answer: unknown): void {
    const { metadata } = (answer ?? {}) as Partial<ApiObject>;
    const revision = Number(metadata?.resourceVersion ?? 0);
    if (!metadata || revision === 0) return;
    const { namespace, name } = refOf({ metadata: metadata as { namespace?: string; name?: string } });
    const place = resource.scope === "Namespaced" ? `${namespace}/${name}` : name;
    this.acknowledged.push({ key: `/registry/${resource.storagePrefix}/${place}`, revision });
  }
}
