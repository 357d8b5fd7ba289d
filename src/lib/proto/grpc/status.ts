import type { IncomingHttpHeaders } from "node:http2";

/** The codes of gRPC, at their numbers. */
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

  constructor(code: GrpcCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

export const isGrpcError = (error: unknown, ...wanted: readonly GrpcCode[]): error is GrpcError =>
  error instanceof GrpcError && (wanted.length === 0 || wanted.includes(error.code));

/** What the trailers say of the call; nothing if the server said nothing. */
export function statusOf(headers: IncomingHttpHeaders): "OK" | GrpcError | undefined {
  const number = headers["grpc-status"];
  if (number === undefined) return undefined;
  const code = codes[Number(number)] ?? "UNKNOWN";
  if (code === "OK") return "OK";
  return new GrpcError(code, decodeMessage(String(headers["grpc-message"] ?? "")) || code.toLowerCase());
}

const maxMessageLength = 4096;

/** As the protocol has it: printable ASCII stays as it is, but for `%`. */
export const encodeMessage = (text: string): string =>
  text
    .slice(0, maxMessageLength)
    .toWellFormed()
    .replace(/[^ -$&-~]+/g, encodeURIComponent);

/** Messages travel percent-encoded; one that is not well formed is shown as it came. */
function decodeMessage(message: string): string {
  try {
    return decodeURIComponent(message);
  } catch (error) {
    if (error instanceof URIError) return message;
    throw error;
  }
}
