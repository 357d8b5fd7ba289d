import type { IncomingHttpHeaders } from "node:http2";

/** The codes of gRPC; the index is the number. */
const codes = [
  "OK",
  "CANCELLED",
  "UNKNOWN",
  "INVALID_ARGUMENT",
  "DEADLINE_EXCEEDED",
  "NOT_FOUND",
  "ALREADY_EXISTS",
  "PERMISSION_DENIED",
  "RESOURCE_EXHAUSTED",
  "FAILED_PRECONDITION",
  "ABORTED",
  "OUT_OF_RANGE",
  "UNIMPLEMENTED",
  "INTERNAL",
  "UNAVAILABLE",
  "DATA_LOSS",
  "UNAUTHENTICATED",
] as const;
export type GrpcCode = Exclude<(typeof codes)[number], "OK">;

export const codeNumber = (code: GrpcCode): number => codes.indexOf(code);

/** A call that the server refused or could not finish. */
export class GrpcError extends Error {
  override readonly name = "GrpcError";
  readonly code: GrpcCode;
  /** The call was never sent, so the server has certainly not carried it out. */
  readonly isUnsent: boolean;

  constructor(code: GrpcCode, message: string, options?: ErrorOptions & { readonly isUnsent?: boolean }) {
    super(message, options);
    this.code = code;
    this.isUnsent = options?.isUnsent ?? false;
  }
}

export const isGrpcError = (error: unknown, ...wanted: readonly GrpcCode[]): error is GrpcError =>
  error instanceof GrpcError && (wanted.length === 0 || wanted.includes(error.code));

/** The status in the trailers; undefined if the server sent none. */
export function statusOf(headers: IncomingHttpHeaders): "OK" | GrpcError | undefined {
  const number = headers["grpc-status"];
  if (number === undefined) return undefined;
  const code = codes[Number(number)] ?? "UNKNOWN";
  if (code === "OK") return "OK";
  return new GrpcError(code, decodeMessage(String(headers["grpc-message"] ?? "")) || code.toLowerCase());
}

const maxMessageLength = 4096;

/** Percent-encoding as the protocol defines it: printable ASCII except `%` stays as it is. */
export const encodeMessage = (text: string): string =>
  text
    .slice(0, maxMessageLength)
    .toWellFormed()
    .replace(/[^ -$&-~]+/g, encodeURIComponent);

/** Messages are percent-encoded. One that is malformed is shown as it came. */
function decodeMessage(message: string): string {
  try {
    return decodeURIComponent(message);
  } catch (error) {
    if (error instanceof URIError) return message;
    throw error;
  }
}
