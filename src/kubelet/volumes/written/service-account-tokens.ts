import { TokenRequest } from "#api/authentication/token-request.ts";
import type { Pod } from "#api/core/pod.ts";
import { ServiceAccount } from "#api/core/service-account.ts";
import type { ServiceAccountTokenProjection } from "#api/core/volume/volume.ts";
import { apiVersionOf } from "#api/resource.ts";
import { notFound } from "#api/status.ts";
import type { Client } from "#client/client.ts";
import { type Clock, timestamp } from "#lib/async/clock.ts";
import type { Random } from "#lib/data/random.ts";

interface HeldToken {
  readonly token: string;
  readonly refreshAt: number;
  readonly expiresAt: number;
}

export interface TokenDeps {
  readonly client: Pick<Client, "createSubresource">;
  readonly clock: Clock;
  readonly random: Random;
}

/** Tokens for the service accounts of pods. */
export interface PodTokens {
  get(pod: Pod, projection: ServiceAccountTokenProjection): Promise<string>;
  /** The uids of the pods that have a token which must be renewed. */
  due(): readonly string[];
  forgetPod(uid: string): void;
}

/** A look at all tokens of the node is cheap. One timer for each pod would not be, and would be late after a suspend. */
const checkMs = 60_000;

/** Has the tokens of pods renewed in time, until the signal. */
export async function renewTokens(
  { clock, tokens, outdated }: { readonly clock: Clock; readonly tokens: PodTokens; outdated(uid: string): void },
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    await clock.sleep(checkMs, signal);
    for (const uid of tokens.due()) outdated(uid);
  }
}

/** Tokens for pods. Each is requested once, and again when a fifth of its life, or a day, is left. */
export class ServiceAccountTokens implements PodTokens {
  readonly #client: Pick<Client, "createSubresource">;
  readonly #clock: Clock;
  readonly #random: Random;
  /** By pod, then by request. */
  readonly #held = new Map<string, Map<string, HeldToken>>();

  constructor({ client, clock, random }: TokenDeps) {
    this.#client = client;
    this.#clock = clock;
    this.#random = random;
  }

  /** A token that cannot be renewed is used while it is valid. */
  async get(pod: Pod, projection: ServiceAccountTokenProjection): Promise<string> {
    const { audience = "", expirationSeconds } = projection;
    const ofPod = this.#ofPod(pod.metadata.uid);
    const key = JSON.stringify([pod.spec.serviceAccountName, audience, expirationSeconds]);
    const held = ofPod.get(key);
    if (held && this.#clock.now() < held.refreshAt) return held.token;
    try {
      const fresh = await this.#request(pod, audience, expirationSeconds);
      ofPod.set(key, fresh);
      return fresh.token;
    } catch (error) {
      if (held && this.#clock.now() < held.expiresAt) return held.token;
      throw error;
    }
  }

  due(): readonly string[] {
    const now = this.#clock.now();
    const isDue = ({ refreshAt }: HeldToken) => refreshAt <= now;
    return Array.from(this.#held).flatMap(([uid, ofPod]) => (ofPod.values().some(isDue) ? [uid] : []));
  }

  forgetPod(uid: string): void {
    this.#held.delete(uid);
  }

  #ofPod(uid: string): Map<string, HeldToken> {
    const held = this.#held.get(uid) ?? new Map<string, HeldToken>();
    this.#held.set(uid, held);
    return held;
  }

  async #request({ metadata, spec }: Pod, audience: string, expirationSeconds: number): Promise<HeldToken> {
    const ref = { namespace: metadata.namespace, name: spec.serviceAccountName ?? "default" };
    const boundObjectRef = { apiVersion: "v1", kind: "Pod", name: metadata.name, uid: metadata.uid };
    const { status } = await this.#client.createSubresource(ServiceAccount, ref, "token", {
      apiVersion: apiVersionOf(TokenRequest),
      kind: TokenRequest.kind,
      metadata: {},
      spec: { audiences: audience === "" ? [] : [audience], expirationSeconds, boundObjectRef },
      // The server sets it, but decodes it first, and an empty string is not a valid time.
      status: { token: "", expirationTimestamp: timestamp(this.#clock.now()) },
    });
    const now = this.#clock.now();
    const expiresAt = Date.parse(status.expirationTimestamp);
    const spread = this.#random() * maxSpreadMs;
    const refreshAt = Math.min(now + dayMs - spread, expiresAt - expirationSeconds * 200 - spread);
    return { token: status.token, refreshAt, expiresAt };
  }
}

const dayMs = 24 * 60 * 60 * 1000;
/** Spreads the requests of a node's pods over time. */
const maxSpreadMs = 10_000;

/** The token of a simulated pod, which nobody reads. Like a real one, it needs the service account. */
export const simulatedTokens = (has: (account: { namespace: string; name: string }) => boolean): PodTokens => ({
  async get({ metadata, spec }) {
    const { namespace } = metadata;
    const name = spec.serviceAccountName ?? "default";
    if (!has({ namespace, name })) throw notFound(ServiceAccount, name);
    return "simulated";
  },
  due: () => [],
  forgetPod() {},
});
