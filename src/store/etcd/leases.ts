import { type Clock } from "#lib/async/clock.ts";
import { leaseGrant } from "./calls.ts";
import { type EtcdClient } from "./etcd-client.ts";

/** Keys that are written within this time share a lease, as upstream does; for short lives, a part of them. */
const sharedSeconds = 60;
const sharedPart = 0.05;
/** A lease that holds more keys takes etcd long to revoke. */
const maxKeys = 1000;

/** Leases for keys that expire. Keys written at about the same time share one, so they live a little longer. */
export class Leases {
  readonly #client: EtcdClient;
  readonly #clock: Clock;
  /** The last lease of each time to live. There are as many as there are kinds that expire. */
  readonly #last = new Map<number, { readonly id: Promise<bigint>; readonly until: number; keys: number }>();

  constructor(client: EtcdClient, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  /** A lease that lasts at least so long. */
  async lasting(ttlSeconds: number): Promise<bigint> {
    const until = this.#clock.now() + ttlSeconds * 1000;
    const last = this.#last.get(ttlSeconds);
    if (last && last.until >= until && last.keys < maxKeys) {
      last.keys++;
      return await last.id;
    }
    const extraSeconds = Math.floor(Math.min(sharedSeconds, ttlSeconds * sharedPart));
    const id = this.#grant(ttlSeconds + extraSeconds);
    if (this.#last.size >= maxLives) this.#last.clear();
    this.#last.set(ttlSeconds, { id, until: until + extraSeconds * 1000, keys: 1 });
    id.catch(() => this.#last.delete(ttlSeconds));
    return await id;
  }

  /** A write failed with its lease: it may be gone. */
  forget(): void {
    this.#last.clear();
  }

  async #grant(ttl: number): Promise<bigint> {
    const { id, error } = await this.#client.write(leaseGrant, { ttl });
    if (error || id === 0n) throw new Error(`etcd grants no lease: ${error || "it has no id"}`);
    return id;
  }
}

const maxLives = 100;
