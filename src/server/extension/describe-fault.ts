import { ExchangeLimitError } from "#client/webhook/bounded-exchange.ts";
import { errorCode } from "#lib/text/error-code.ts";
import { messageOf } from "#lib/text/message-of.ts";
import type { Address } from "./connections.ts";
import { HostFault } from "./host-fault.ts";

const unverified = "tls: failed to verify certificate: x509:";
const unknownAuthority = `${unverified} certificate signed by unknown authority`;

const words = new Map<unknown, (address: Address) => string>([
  ["ECONNREFUSED", ({ host, port }) => `dial tcp ${host}:${port}: connect: connection refused`],
  ["EHOSTUNREACH", ({ host, port }) => `dial tcp ${host}:${port}: connect: no route to host`],
  ["ENOTFOUND", ({ host }) => `dial tcp: lookup ${host}: no such host`],
  ["ECONNRESET", () => "EOF"],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", () => unknownAuthority],
  ["SELF_SIGNED_CERT_IN_CHAIN", () => unknownAuthority],
  ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", () => unknownAuthority],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", () => unknownAuthority],
  ["CERT_HAS_EXPIRED", () => `${unverified} certificate has expired or is not yet valid`],
  ["CERT_NOT_YET_VALID", () => `${unverified} certificate has expired or is not yet valid`],
]);

/** Why there was no answer: upstream's words for what happens most, so that what people know to look for is there. */
export function describeFault(error: unknown, address: Address | undefined): string {
  if (error instanceof ExchangeLimitError && error.isLate) return "context deadline exceeded";
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (cause instanceof HostFault) return `${unverified} ${cause.message}`;
  if (messageOf(cause).includes("wrong version number")) return "tls: first record does not look like a TLS handshake";
  const known = words.get(errorCode(cause));
  return known && address ? known(address) : messageOf(error);
}
