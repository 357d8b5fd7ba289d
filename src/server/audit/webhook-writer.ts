import { openWebhook } from "#client/webhook/webhook.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type Random } from "#lib/data/random.ts";
import type { AuditWriter } from "./backend.ts";

export interface AuditWebhookOptions {
  /** A kubeconfig file. */
  readonly file: string;
  readonly initialBackoffMs: number;
}

/** Upstream's pauses: each is half as long again as the one before. */
const retries = { attempts: 5, factor: 1.5, jitter: 0.2, maxMs: 600_000 };

/** Posts events as an EventList. */
export async function openAuditWebhook(
  { file, initialBackoffMs }: AuditWebhookOptions,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
): Promise<AuditWriter> {
  const retry = { ...retries, baseMs: initialBackoffMs, random };
  const webhook = await openWebhook(file, { clock, retry, flag: "audit-webhook-config-file" });
  const end = new AbortController();
  return {
    async write(events) {
      const items = events.map(({ rest }) => `{${rest}`).join(",");
      const list = `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[${items}]}`;
      await webhook.post(Buffer.from(list), end.signal);
    },
    async [Symbol.asyncDispose]() {
      end.abort(new Error("the server ends"));
      webhook[Symbol.dispose]();
    },
  };
}
