import { answerHeaders, variesByOrigin } from "../routing/cors.ts";
import { type HeaderChange, type Route } from "../routing/route.ts";
import type { RoutedRequest } from "../routing/route-table.ts";

/** Names and values in turn, as Node has them. */
export type RawHeaders = readonly string[];
export type Header = readonly [name: string, value: string];

/** They are about one connection, and the next connection has its own. */
const hopByHop = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "proxy-authenticate",
  "proxy-authorization",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "http2-settings",
]);

/** What clients could claim about themselves, and only this proxy may say. */
const ownClaims = new Set([
  "forwarded",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-port",
  "x-forwarded-proto",
  "x-real-ip",
]);

/** By this name the proxy knows requests that it has forwarded itself. */
export const ownName = "orlop-ingress";

export interface ClientFacts {
  readonly address: string;
  readonly host: string;
  readonly port: number;
  readonly isSecure: boolean;
  readonly httpVersion: string;
}

/** The headers that a backend gets. Host is not among them, and neither is the framing of the body. */
export function backendHeaders(raw: RawHeaders, client: ClientFacts): Header[] {
  const dropped = namedByConnection(raw);
  const headers: Header[] = [];
  let te = false;
  const vias: string[] = [];
  for (const [name, value] of pairsOf(raw)) {
    if (name === "te" && /\btrailers\b/i.test(value)) te = true;
    if (name === "via") vias.push(value);
    if (name.startsWith(":") || hopByHop.has(name) || ownClaims.has(name) || dropped.has(name)) continue;
    if (name === "host" || name === "content-length" || name === "expect" || name === "via") continue;
    headers.push([name, value]);
  }
  if (te) headers.push(["te", "trailers"]);
  headers.push(["via", [...vias, `${client.httpVersion} ${ownName}`].join(", ")]);
  headers.push(["x-forwarded-for", client.address], ["x-real-ip", client.address]);
  headers.push(["x-forwarded-host", client.host], ["x-forwarded-port", String(client.port)]);
  headers.push(["x-forwarded-proto", client.isSecure ? "https" : "http"]);
  return headers;
}

/** How often the request has passed this proxy: a backend may be the proxy itself. */
export function countPasses(raw: RawHeaders): number {
  let count = 0;
  for (const [name, value] of pairsOf(raw)) if (name === "via") count += value.split(ownName).length - 1;
  return count;
}

/** The headers that a client gets. */
export function clientHeaders(raw: RawHeaders): Header[] {
  const dropped = namedByConnection(raw);
  return [...pairsOf(raw)].filter(
    ([name]) => !name.startsWith(":") && !hopByHop.has(name) && !dropped.has(name) && name !== "alt-svc",
  );
}

export function changeHeaders(headers: readonly Header[], change: HeaderChange | undefined): Header[] {
  if (!change) return [...headers];
  const gone = new Set([...change.remove, ...change.set.map(({ name }) => name)]);
  const result = headers.filter(([name]) => !gone.has(name));
  for (const { name, value } of change.set) result.push([name, value]);
  for (const { name, value } of change.add) result.push([name, value]);
  return result;
}

/** What the route says about pages of other sites takes the place of what the backend says. */
export function sharedHeaders(headers: readonly Header[], { action }: Route, call: RoutedRequest): Header[] {
  const cors = action.type === "refuse" ? undefined : action.cors;
  if (!cors) return [...headers];
  const result = headers.filter(([name]) => !name.startsWith("access-control-"));
  for (const { name, value } of answerHeaders(cors, call.header)) result.push([name, value]);
  if (variesByOrigin(cors)) result.push(["vary", "Origin"]);
  return result;
}

/** In the form that `writeHead` and `request` take. */
export function headerObject(headers: readonly Header[]): Record<string, string | string[]> {
  const result: Record<string, string | string[]> = Object.create(null);
  for (const [name, value] of headers) {
    const known = result[name];
    if (known === undefined) result[name] = value;
    else if (Array.isArray(known)) known.push(value);
    else result[name] = [known, value];
  }
  return result;
}

/** What the header Connection declares to be about the connection. It cannot take away what backends rely on. */
function namedByConnection(raw: RawHeaders): Set<string> {
  const names = new Set<string>();
  for (const [name, value] of pairsOf(raw)) {
    if (name !== "connection") continue;
    for (const token of value.split(",")) names.add(token.trim().toLowerCase());
  }
  for (const kept of ["close", "keep-alive", "host", "via", "content-length", "cookie", "authorization"])
    names.delete(kept);
  return names;
}

export function* pairsOf(raw: RawHeaders): Iterable<Header> {
  for (let at = 0; at + 1 < raw.length; at += 2) yield [(raw[at] ?? "").toLowerCase(), raw[at + 1] ?? ""];
}
