import { dayOf, isDay } from "#api/authentication/legacy-token-dates.ts";
import { ConfigMap } from "#api/core/config-map.ts";
import { Secret } from "#api/core/secret.ts";
import { ignoreNotFound } from "#api/status.ts";
import { lastUsedLabel, legacyTokenTracking } from "#api/well-known.ts";
import { type Client } from "#client/client.ts";
import { ensureObject } from "#client/ensure-object.ts";
import { type Clock } from "#lib/async/clock.ts";
import { Nudge } from "#lib/async/nudge.ts";
import { orAborted } from "#lib/async/tasks.ts";
import { type Log } from "#lib/process/log.ts";
import { messageOf } from "#lib/text/message-of.ts";

/** More uses than this are not noted at once: a token that is in use comes again. */
const maxWaiting = 10_000;
const dayMs = 86_400_000;
/** As often as upstream restores the config map. */
const everyMs = 30 * 60_000;

export interface UseDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
}

/** Labels Secrets with the day when their token was last used. No request waits for it. */
export class LegacyTokenUses {
  readonly #waiting = new Map<string, Secret>();
  readonly #changes = new Nudge();

  /** Costs next to nothing for a token that was already used today. */
  note(secret: Secret, nowMs: number): void {
    const { namespace, name, labels } = secret.metadata;
    const used = labels?.[lastUsedLabel];
    // Another server's clock may be ahead.
    if (used === dayOf(nowMs) || used === dayOf(nowMs + dayMs) || this.#waiting.size >= maxWaiting) return;
    this.#waiting.set(`${namespace}/${name}`, secret);
    this.#changes.give();
  }

  /** Writes the labels, and since when there are any, until the signal. */
  async run(deps: UseDeps, signal: AbortSignal): Promise<void> {
    const { clock, log } = deps;
    for (;;) {
      await this.#write(deps, signal).catch((error: unknown) => {
        if (!signal.aborted) log.warn("cannot note the use of tokens", { error: messageOf(error) });
      });
      const cancel = clock.after(everyMs, () => this.#changes.give());
      await orAborted(this.#changes.taken(), signal).finally(cancel);
    }
  }

  async #write({ client, clock }: UseDeps, signal: AbortSignal): Promise<void> {
    const today = dayOf(clock.now());
    await ensureObject(client, ConfigMap, {
      ...legacyTokenTracking,
      object: { metadata: legacyTokenTracking, data: { since: today } },
      update: (current) =>
        isDay(current.data?.since) ? current : { ...current, data: { ...current.data, since: today } },
    });
    for (const [key, { metadata }] of this.#waiting) {
      this.#waiting.delete(key);
      const body = { metadata: { uid: metadata.uid, labels: { [lastUsedLabel]: today } } };
      await client.patch(Secret, metadata, { type: "merge", body }, { signal }).catch(ignoreNotFound);
    }
  }
}
