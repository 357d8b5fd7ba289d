import { type Exchanged, exchangeBounded } from "#client/webhook/bounded-exchange.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type Address, type ResolveService } from "#server/extension/connections.ts";
import { describeFault } from "#server/extension/describe-fault.ts";
import { addressOf, type Called, shownAddress, type WebhookConnections } from "./target.ts";

/** What every call of a webhook needs. */
export interface PostWorld {
  readonly clock: Clock;
  readonly connections: WebhookConnections;
  readonly resolveService: ResolveService;
}

export interface Posted {
  readonly body: Uint8Array;
  readonly timeoutSeconds: number;
  readonly userAgent: string;
  /** The caller has left. */
  readonly signal: AbortSignal;
}

/** The largest answer: the largest object fits. */
export const maxAnswerBytes = 4 * 1024 * 1024;

let turn = 0;

/** Sends a review to a webhook. Throws if there is no answer of success; the message has the URL, in upstream's words. */
export async function postReview(
  { clock, connections, resolveService }: PostWorld,
  webhook: Called,
  { body, timeoutSeconds, userAgent, signal }: Posted,
): Promise<Uint8Array> {
  let address: Address | undefined;
  try {
    address = await addressOf(webhook, resolveService, turn++);
    const { path, authority: host } = address;
    const type = "application/json";
    const headers = { host, accept: type, "content-type": type, "user-agent": userAgent };
    const limits = { timeoutMs: timeoutSeconds * 1000, maxBytes: maxAnswerBytes, clock, signal };
    const wire = { method: "POST", path: `${path}?timeout=${timeoutSeconds}s`, headers, body };
    const exchanged = await connections
      .of(webhook)
      .use(address, (transport) => exchangeBounded(transport, wire, limits));
    if (exchanged.status >= 200 && exchanged.status < 300) return exchanged.body;
    throw new Error(describeStatus(exchanged));
  } catch (error) {
    // There is nobody to answer.
    if (signal.aborted) throw signal.reason;
    const { authority, path } = shownAddress(webhook);
    const url = `https://${authority}${path}?timeout=${timeoutSeconds}s`;
    throw new Error(`Post "${url}": ${describeFault(error, address)}`, { cause: error });
  }
}

const maxShownBytes = 512;

function describeStatus({ status, body }: Exchanged): string {
  if (status === 404) return "the server could not find the requested resource";
  const shown = Buffer.from(body.subarray(0, maxShownBytes)).toString("utf8").trim() || "unknown";
  if (status >= 500)
    return `an error on the server (${JSON.stringify(shown)}) has prevented the request from succeeding`;
  return `the server responded with the status code ${status} but did not return more information`;
}
