import type { ValueMatch } from "./route.ts";

/** Which pages of other sites may use a route, by the rules of browsers (CORS). */
export interface CorsRule {
  readonly origins: readonly Origin[];
  readonly isForEveryOrigin: boolean;
  readonly withCredentials: boolean;
  /** "*" stands for all, here and in what follows. */
  readonly methods: readonly string[];
  readonly headers: readonly string[];
  readonly exposed: readonly string[];
  readonly maxAgeSeconds: number;
}

/** In a rule, the host may be `*`, or start with `*.` for any labels. */
interface Origin {
  readonly scheme: string;
  readonly host: string;
  readonly port: number;
}

/** What a route says. */
export interface CorsFilter {
  readonly allowOrigins?: readonly string[];
  readonly allowCredentials?: boolean;
  readonly allowMethods?: readonly string[];
  readonly allowHeaders?: readonly string[];
  readonly exposeHeaders?: readonly string[];
  readonly maxAge?: number;
}

export function planCors(filter: CorsFilter): CorsRule {
  const { allowOrigins = [], allowMethods = [], allowHeaders = [], exposeHeaders = [], maxAge = 5 } = filter;
  return {
    origins: allowOrigins.flatMap((text) => parseOrigin(text) ?? []),
    isForEveryOrigin: allowOrigins.includes("*"),
    withCredentials: filter.allowCredentials === true,
    ...{ methods: allowMethods, headers: allowHeaders, exposed: exposeHeaders, maxAgeSeconds: maxAge },
  };
}

const usualPorts: Readonly<Record<string, number>> = { http: 80, https: 443 };
const maxOriginLength = 300;

function parseOrigin(text: string): Origin | undefined {
  if (text.length > maxOriginLength) return undefined;
  const parts = /^(https?):\/\/([a-z0-9.*_-]+|\[[0-9a-f:.]+\])(?::(\d{1,5}))?$/.exec(text.toLowerCase());
  const [, scheme = "", host = "", port] = parts ?? [];
  return parts ? { scheme, host, port: port === undefined ? (usualPorts[scheme] ?? 0) : Number(port) } : undefined;
}

function isAllowed(rule: CorsRule, text: string): boolean {
  if (rule.isForEveryOrigin) return true;
  const origin = parseOrigin(text);
  if (!origin || origin.host.includes("*")) return false;
  const { scheme, host, port } = origin;
  return rule.origins.some(
    (wanted) => wanted.scheme === scheme && wanted.port === port && isHostMatched(wanted.host, host),
  );
}

function isHostMatched(wanted: string, host: string): boolean {
  if (wanted === "*" || wanted === host) return true;
  return wanted.startsWith("*.") && host.endsWith(wanted.slice(1)) && host.length >= wanted.length;
}

/** A header of the request; undefined if it is missing. */
type HeaderOf = (name: string) => string | undefined;

/** Whether a browser asks for permission before the request itself. */
export const isPreflight = (method: string, header: HeaderOf): boolean =>
  method === "OPTIONS" && header("origin") !== undefined && header("access-control-request-method") !== undefined;

/** The headers by which a browser learns what it may send. None if it may send nothing. */
export function preflightHeaders(rule: CorsRule, header: HeaderOf): ValueMatch[] {
  const shared = sharedHeaders(rule, header);
  if (shared.length === 0) return [];
  const asked = (all: readonly string[], name: string): string | undefined =>
    !all.includes("*") ? all.join(", ") : rule.withCredentials ? readList(header(name)) : "*";
  return [
    ...shared,
    ...valued("access-control-allow-methods", asked(rule.methods, "access-control-request-method")),
    ...valued("access-control-allow-headers", asked(rule.headers, "access-control-request-headers")),
    { name: "access-control-max-age", value: String(rule.maxAgeSeconds) },
  ];
}

/** The headers by which a browser lets the page see an answer. */
export function answerHeaders(rule: CorsRule, header: HeaderOf): ValueMatch[] {
  const shared = sharedHeaders(rule, header);
  if (shared.length === 0) return [];
  // Browsers read "*" literally here if there are credentials.
  const exposed = rule.withCredentials ? rule.exposed.filter((name) => name !== "*") : rule.exposed;
  return [...shared, ...valued("access-control-expose-headers", exposed.join(", "))];
}

function sharedHeaders(rule: CorsRule, header: HeaderOf): ValueMatch[] {
  const origin = header("origin");
  if (origin === undefined || !isPlain(origin) || !isAllowed(rule, origin)) return [];
  const isSameForAll = rule.isForEveryOrigin && !rule.withCredentials;
  return [
    { name: "access-control-allow-origin", value: isSameForAll ? "*" : origin },
    ...(rule.withCredentials ? [{ name: "access-control-allow-credentials", value: "true" }] : []),
  ];
}

/** Whether caches must keep answers apart by the origin of the request. */
export const variesByOrigin = (rule: CorsRule): boolean => !rule.isForEveryOrigin || rule.withCredentials;

const valued = (name: string, value: string | undefined): ValueMatch[] => (value ? [{ name, value }] : []);

/** Text that can be a value of a header again. */
const isPlain = (text: string): boolean => text.length <= maxOriginLength && /^[\x21-\x7e]+$/.test(text);

const maxListLength = 4_096;

/** Names of methods or headers that a browser asks for; undefined if that is no such list. */
function readList(text: string | undefined): string | undefined {
  if (text === undefined || text.length > maxListLength) return undefined;
  const names = text.split(",").map((name) => name.trim());
  return names.every((name) => /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/.test(name)) ? names.join(", ") : undefined;
}
