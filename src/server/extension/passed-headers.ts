import { withoutTokens } from "#lib/net/upgrade.ts";
import { type Context } from "#server/request/pipeline.ts";

/** Headers that concern a single connection and are not passed on. */
export const hopByHop: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** The client's identity is only for this server; length and encoding of the body are set again. */
const ownHeaders = /^(:.*|authorization|x-remote-.*|impersonate-.*|content-length|content-encoding|expect|host)$/;

/** The headers of a request that another server gets. */
export function passedHeaders({ request: { headers, peer } }: Context): Record<string, string> {
  const named = namedIn(headers.connection);
  const result: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !hopByHop.has(name) && !named.includes(name) && !ownHeaders.test(name)) {
      result[name] = value;
    }
  }
  const protocols = withoutTokens(headers["sec-websocket-protocol"]);
  if (protocols === undefined) delete result["sec-websocket-protocol"];
  else result["sec-websocket-protocol"] = protocols;
  const forwardedFor = headers["x-forwarded-for"];
  if (forwardedFor || peer.address) result["x-forwarded-for"] = [forwardedFor, peer.address].filter(Boolean).join(", ");
  return result;
}

/** Headers that a `connection` header names are for this connection only. */
export const namedIn = (connection = ""): string[] => connection.split(",").map((name) => name.trim().toLowerCase());

/** What the client sees as the host. */
export const hostOf = ({ request: { headers } }: Context): string => headers.host ?? headers[":authority"] ?? "";
