import { type ApiRequest } from "#api/exchange.ts";
import { versionOfIP } from "#lib/net/ip.ts";

/** A chain of proxies is short. */
const maxForwarded = 32;

/**
 * The addresses that a request came through, the client's first: what proxies claim in headers, and then the connection's
 * own. The headers are not verified.
 */
export function sourceAddresses({ headers, peer }: Pick<ApiRequest, "headers" | "peer">): string[] {
  // Callers in this process have no connection.
  const own = peer.address.replace(/^::ffff:(?=\d+\.)/, "") || "127.0.0.1";
  if (!headers["x-forwarded-for"] && !headers["x-real-ip"]) return [own];
  const forwarded = (headers["x-forwarded-for"] ?? "").split(",", maxForwarded).map((part) => part.trim());
  const claimed = forwarded.filter((part) => versionOfIP(part) !== 0);
  const real = headers["x-real-ip"] ?? "";
  if (claimed.length === 0 && versionOfIP(real) !== 0) claimed.push(real);
  return claimed.at(-1) === own ? claimed : [...claimed, own];
}
