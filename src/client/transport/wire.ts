import type { IncomingHttpHeaders } from "node:http";
import { type Readable } from "node:stream";
import { messageOf } from "#lib/text/message-of.ts";

export interface WireRequest {
  readonly method: string;
  /** Includes the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body: Uint8Array | undefined;
  readonly signal: AbortSignal;
}
export interface WireResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Readable;
}

/** Sends requests to one server; connects when needed, and again after a loss. */
export interface Transport {
  /** Resolves when the head of the response has arrived. Fails with a WireError, or the signal's reason. */
  send(request: WireRequest): Promise<WireResponse>;
  close(): void;
}

/** One that also sends bodies of unknown length, as they arrive. */
export interface StreamTransport extends Transport {
  send(
    request: Omit<WireRequest, "body"> & { readonly body: Uint8Array | Readable | undefined },
  ): Promise<WireResponse>;
}

/** There was no response. */
export class WireError extends Error {
  override readonly name = "WireError";
  /** `connect`: no connection. `refused`: the server did not process the request. `lost`: it may have. */
  readonly kind: "connect" | "refused" | "lost";

  constructor(kind: "connect" | "refused" | "lost", cause: unknown) {
    super(messageOf(cause), { cause });
    this.kind = kind;
  }
}

/** A server may announce its response this often; more would only keep us busy. */
export const maxInterim = 5;
export const tooManyInterim = `more than ${maxInterim} interim responses`;

/** One value per name, without the pseudo-headers of HTTP/2. */
export function flat(headers: IncomingHttpHeaders): Record<string, string | undefined> {
  const to: Record<string, string | undefined> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (!name.startsWith(":")) to[name] = Array.isArray(value) ? value.join(", ") : value;
  }
  return to;
}
