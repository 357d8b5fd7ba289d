import { isIPv6 } from "node:net";

/** What a request asks for, in the one form that routes are compared with and backends get. */
export interface Target {
  /** In lower case, without port and without a dot at the end; "" if the request names none. */
  readonly host: string;
  /** Without `.` and `..`, and with no more escapes than needed. */
  readonly path: string;
  /** With its question mark, or "". */
  readonly search: string;
}

export interface RawTarget {
  /** As on the request line or in `:path`. */
  readonly url: string;
  /** As in the header Host or in `:authority`. */
  readonly authority: string | undefined;
}

/**
 * Reads what a request asks for; undefined if it cannot be understood in one way only. Two servers that read one
 * request differently are what smuggled requests live from.
 */
export function readTarget({ url, authority }: RawTarget): Target | undefined {
  const absolute = /^https?:\/\/([^/?#]*)(.*)$/i.exec(url);
  if (absolute) {
    const [, inUrl = "", rest = ""] = absolute;
    if (authority !== undefined && authority.toLowerCase() !== inUrl.toLowerCase()) return undefined;
    return readTarget({ url: rest.startsWith("/") ? rest : `/${rest}`, authority: inUrl });
  }
  if (!/^\/[\x21-\x7e]*$/.test(url) || /[\\#]/.test(url)) return undefined;
  const host = authority === undefined ? "" : readHost(authority);
  if (host === undefined) return undefined;
  const mark = url.indexOf("?");
  const path = normalPath(mark < 0 ? url : url.slice(0, mark));
  if (path === undefined) return undefined;
  return { host, path, search: mark < 0 ? "" : url.slice(mark) };
}

const maxHost = 253;

/** The host of an authority such as `Shop.example:8080`; undefined if it is none. */
export function readHost(authority: string): string | undefined {
  const parts = /^(\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z._-]*)(?::(\d{1,5}))?$/.exec(authority);
  if (!parts || Number(parts[2] ?? 0) > 65_535) return undefined;
  const [, name = ""] = parts;
  if (name.startsWith("[")) return isIPv6(name.slice(1, -1)) ? name.toLowerCase() : undefined;
  const host = name.toLowerCase().replace(/\.$/, "");
  return host.length > maxHost || host.includes("..") || host.startsWith(".") ? undefined : host;
}

/** A path deeper than this is not a path that anybody means. */
const maxSegments = 512;

/** Resolves `.` and `..`, and decodes escapes of characters that need none. An escaped slash stays one. */
function normalPath(raw: string): string | undefined {
  if (/%(?![0-9A-Fa-f]{2})|%00/.test(raw)) return undefined;
  const decoded = raw.replace(/%[0-9A-Fa-f]{2}/g, (code) => {
    const character = String.fromCharCode(Number.parseInt(code.slice(1), 16));
    return /[A-Za-z0-9._~-]/.test(character) ? character : code.toUpperCase();
  });
  const segments = decoded.split("/");
  if (segments.length > maxSegments) return undefined;
  const kept: string[] = [];
  segments.forEach((segment, index) => {
    const isLast = index === segments.length - 1;
    if (segment === "..") {
      // The first one is the empty text before the leading slash.
      if (kept.length > 1) kept.pop();
      if (isLast) kept.push("");
    } else if (segment !== ".") kept.push(segment);
    else if (isLast) kept.push("");
  });
  return kept.length === 1 ? "/" : kept.join("/");
}
