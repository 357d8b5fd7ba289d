import { type Clock } from "#lib/async/clock.ts";
import { outOfTime, withDeadline } from "#lib/async/deadline.ts";
import { ByteQueue, TinyChunks } from "#lib/data/byte-queue.ts";
import type { Transport, WireRequest, WireResponse } from "../transport/wire.ts";

export interface ExchangeLimits {
  /** For the whole exchange, from the connection to the last byte of the response. */
  readonly timeoutMs: number;
  readonly maxBytes: number;
}

export interface Exchanged {
  readonly status: number;
  readonly headers: WireResponse["headers"];
  readonly body: Uint8Array;
}

/** A server kept us waiting for too long, or sent too much. */
export class ExchangeLimitError extends Error {
  override readonly name = "ExchangeLimitError";
  /** It took too long. Otherwise the answer was too large. */
  readonly isLate: boolean;

  constructor(message: string, { isLate }: { readonly isLate: boolean }) {
    super(message);
    this.isLate = isLate;
  }
}

/** Sends one request to a server that is not trusted: it can neither take more time nor more memory than the limits. */
export async function exchangeBounded(
  transport: Transport,
  request: Omit<WireRequest, "signal">,
  { clock, signal, timeoutMs, maxBytes }: ExchangeLimits & { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<Exchanged> {
  const exchanged = await withDeadline(timeoutMs, { clock, signal }, async (ended) => {
    const { status, headers, body } = await transport.send({ ...request, signal: ended });
    return { status, headers, body: await readAtMost(body, maxBytes) };
  });
  if (exchanged === outOfTime)
    throw new ExchangeLimitError(`no complete answer within ${timeoutMs} ms`, { isLate: true });
  return exchanged;
}

async function readAtMost(body: WireResponse["body"], maxBytes: number): Promise<Uint8Array> {
  const received = new ByteQueue();
  const tiny = new TinyChunks();
  // Leaving the loop destroys the stream, so the rest is never received.
  for await (const part of body as AsyncIterable<Uint8Array>) {
    if (received.size + part.byteLength > maxBytes)
      throw new ExchangeLimitError(`the answer is larger than ${maxBytes} bytes`, { isLate: false });
    tiny.count(part);
    received.push(part);
  }
  return received.take(received.size);
}
