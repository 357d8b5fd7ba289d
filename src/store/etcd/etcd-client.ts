import { type Clock } from "#lib/async/clock.ts";
import { GrpcClient, type GrpcOptions, type Rpc } from "#lib/proto/grpc/client.ts";
import { toTheEnd, type WatchResponse, watch } from "./calls.ts";
import { faultOf } from "./faults.ts";

export interface EtcdClientOptions {
  /** `https://host:port` or `http://host:port`; the first that answers is used until it fails. */
  readonly endpoints: readonly string[];
  readonly tls?: GrpcOptions["tls"];
  readonly clock: Clock;
}

/** An answer that is larger fails its call: a page that is too long is asked for again with fewer keys. */
const maxMessageBytes = 32 << 20;
/** etcd ends connections that are pinged more often than every 5 s. */
const keepalive = { everyMs: 10_000, timeoutMs: 5000, greetingMs: 2000 };
/** A little longer than a member waits for its leader by default. */
const attemptMs = 8000;
/** How long a request that was not carried out is tried elsewhere: longer than an election takes. */
const patienceMs = 5000;
const pauseMs = 50;
/** A member without a leader answers so at once, instead of waiting for one. */
const metadata = { hasleader: "true" };

/** Calls whichever member answers. */
export class EtcdClient implements Disposable {
  readonly #clock: Clock;
  readonly #members: readonly GrpcClient[];
  #current = 0;
  #isClosed = false;

  constructor({ endpoints, tls, clock }: EtcdClientOptions) {
    this.#clock = clock;
    this.#members = endpoints.map(
      (address) => new GrpcClient({ address, maxMessageBytes, keepalive, clock, ...(tls ? { tls } : {}) }),
    );
  }

  /** Repeats the call at other members until one answers. */
  read<In, Out>(method: Rpc<In, Out>, request: In): Promise<Out> {
    return this.#call(method, request, (fault) => fault !== "final");
  }

  /** Repeats the call only if it was certainly not carried out. */
  write<In, Out>(method: Rpc<In, Out>, request: In): Promise<Out> {
    return this.#call(method, request, (fault) => fault === "unsent");
  }

  /**
   * All changes from this revision on, of all keys: so their revisions have no gaps, and what we have seen is always
   * known exactly. It is one stream at one member; after a failure the next stream is at the next one.
   */
  async *watch(startRevision: number, signal: AbortSignal): AsyncGenerator<WatchResponse, void> {
    const member = this.#current;
    const create = { key: "\0", rangeEnd: toTheEnd, startRevision, fragment: true };
    try {
      yield* this.#member(member).stream(watch, { create }, { signal, metadata });
    } catch (error) {
      this.#leave(member);
      throw error;
    }
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    for (const member of this.#members) member.close();
  }

  async #call<In, Out>(
    method: Rpc<In, Out>,
    request: In,
    mayRepeat: (fault: ReturnType<typeof faultOf>) => boolean,
  ): Promise<Out> {
    const until = this.#clock.now() + patienceMs;
    for (let attempt = 1; ; attempt++) {
      const member = this.#current;
      try {
        return await this.#member(member).call(method, request, { timeoutMs: attemptMs, metadata });
      } catch (error) {
        const fault = faultOf(error);
        if (fault !== "final") this.#leave(member);
        if (this.#isClosed || !mayRepeat(fault) || this.#clock.now() >= until) throw error;
      }
      // The first round over all members is fast.
      if (attempt % this.#members.length === 0) await this.#clock.sleep(pauseMs * Math.min(attempt, 20));
    }
  }

  #member(index: number): GrpcClient {
    return this.#members[index] as GrpcClient;
  }

  #leave(member: number): void {
    if (this.#current === member) this.#current = (member + 1) % this.#members.length;
  }
}
