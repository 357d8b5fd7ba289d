import { GrpcError } from "#lib/proto/grpc/status.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { StoreTimeoutError, StoreUnavailableError, ValueTooLargeError } from "../store.ts";

/**
 * What a failed call means. `unsent`: it was certainly not carried out, and may succeed elsewhere or later. `unknown`:
 * it may have been carried out. `final`: it was refused, and would be again.
 */
export type Fault = "unsent" | "unknown" | "final";

export function faultOf(error: unknown): Fault {
  if (!(error instanceof GrpcError)) return "final";
  const { code, message, isUnsent } = error;
  if (isUnsent) return "unsent";
  // A member checks this before it accepts the request, because we ask it to.
  if (code === "UNAVAILABLE" && /\bno leader$/.test(message)) return "unsent";
  if (code === "RESOURCE_EXHAUSTED" && /\btoo many requests$/.test(message)) return "unsent";
  return code === "UNAVAILABLE" || code === "DEADLINE_EXCEEDED" || code === "CANCELLED" ? "unknown" : "final";
}

export const isCompacted = (error: unknown): boolean =>
  error instanceof GrpcError && error.code === "OUT_OF_RANGE" && error.message.includes("compacted");

export const isTooLargeToReceive = (error: unknown): boolean =>
  error instanceof GrpcError &&
  error.code === "RESOURCE_EXHAUSTED" &&
  error.message.startsWith("received message larger");

/** The error of a read or a write for whoever asked. */
export function storeError(error: unknown): Error {
  if (error instanceof StoreUnavailableError) return error;
  const message = messageOf(error);
  switch (faultOf(error)) {
    case "unsent":
      return new StoreUnavailableError(`etcd does not answer: ${message}`, { cause: error });
    case "unknown":
      return new StoreTimeoutError(`etcd did not confirm the request: ${message}`, { cause: error });
    case "final":
      return finalError(error, message);
  }
}

function finalError(cause: unknown, message: string): Error {
  if (!(cause instanceof GrpcError)) return cause instanceof Error ? cause : new Error(message);
  if (/request is too large|larger than max/.test(message)) return new ValueTooLargeError(message, { cause });
  if (message.includes("space exceeded"))
    return new StoreUnavailableError(`etcd is full: ${message}: free some space and disarm its alarm`, { cause });
  return new StoreUnavailableError(`etcd refuses the request: ${message}`, { cause });
}
