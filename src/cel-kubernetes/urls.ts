import { type FunctionDeclaration, type Library, memberOverload, overload } from "#cel/declare/function.ts";
import type { Meter } from "#cel/declare/meter.ts";
import { boolType, listType, mapType, stringType, structType, type Type } from "#cel/types/type.ts";
import { ArrayList, EntryMap } from "#cel/values/collections.ts";
import { CelError, isError, OpaqueValue, type Value } from "#cel/values/value.ts";
import { parseGoUrl } from "#lib/net/go-url.ts";

const urlType: Type = structType("kubernetes.URL", { field: () => undefined });

class UrlValue extends OpaqueValue {
  readonly type = urlType;
  readonly text: string;
  readonly scheme: string;
  readonly host: string;
  readonly path: string;
  readonly query: string;
  constructor(text: string, parts: { scheme: string; host: string; query: string }) {
    super();
    this.text = text;
    this.scheme = parts.scheme;
    this.host = parts.host;
    this.query = parts.query;
    this.path = pathOf(text, parts.scheme);
  }
  equals(other: OpaqueValue): boolean {
    return other instanceof UrlValue && other.text === this.text;
  }
  get port(): string {
    return /:(\d*)$/.exec(this.host)?.[1] ?? "";
  }
  get hostname(): string {
    const host = this.host.replace(/:\d*$/, "");
    return host.startsWith("[") && host.endsWith("]") ? host.slice(1, -1) : host;
  }
}

/** What is between the host and the query. */
function pathOf(text: string, scheme: string): string {
  const rest = text.split(/[?#]/, 1)[0]?.slice(scheme ? scheme.length + 1 : 0) ?? "";
  if (!rest.startsWith("/")) return "";
  if (!rest.startsWith("//")) return rest;
  const slash = rest.indexOf("/", 2);
  return slash < 0 ? "" : rest.slice(slash);
}

/** The path as it was written if that is a valid encoding, otherwise encoded. */
function escapedPath({ path }: UrlValue): string {
  if (/^[A-Za-z0-9\-._~!$&'()*+,;=:@[\]/%]*$/.test(path)) return path;
  try {
    return encodeURI(decodeURIComponent(path)).replace(
      /[!'()*[\]]/g,
      (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
    );
  } catch {
    return encodeURI(path);
  }
}

/** Units of work to read a short URL. */
const urlWork = 150;

/** An absolute URL or an absolute path. */
function parseUrl(meter: Meter, text: string): UrlValue | CelError {
  meter.work(urlWork + text.length / 2);
  const failed = (why: string): CelError => new CelError(`URL parse error during conversion from string: ${why}`);
  const shown = JSON.stringify(text.slice(0, 200));
  if (text === "") return failed(`parse ${shown}: empty url`);
  const parts = parseGoUrl(text);
  if ("fault" in parts) return failed(parts.fault);
  const isAbsolute = parts.scheme !== "" || text.startsWith("/") || text === "*";
  return isAbsolute ? new UrlValue(text, parts) : failed(`parse ${shown}: invalid URI for request`);
}

/** Units of work to read a pair of a query. */
const pairWork = 60;

function queryOf(meter: Meter, { query }: UrlValue): Value {
  const values = new Map<string, string[]>();
  meter.work(urlWork + query.length / 4);
  const pairs = query === "" ? [] : query.split("&");
  meter.work(pairs.length * pairWork);
  for (const pair of pairs) {
    const [key, value] = pairOf(pair) ?? [];
    if (key === undefined || value === undefined) continue;
    const known = values.get(key);
    if (known) known.push(value);
    else values.set(key, [value]);
  }
  return new EntryMap(new Map([...values].map(([key, list]) => [key, { key, value: new ArrayList(list) }])));
}

/** Name and value, or undefined if the pair is not encoded correctly. */
function pairOf(pair: string): readonly [string, string] | undefined {
  if (pair === "" || pair.includes(";")) return undefined;
  const [key = "", ...rest] = pair.replaceAll("+", " ").split("=");
  try {
    return [decodeURIComponent(key), decodeURIComponent(rest.join("="))];
  } catch {
    return undefined;
  }
}

const part = (name: string, id: string, read: (url: UrlValue) => string): FunctionDeclaration => ({
  name,
  overloads: [memberOverload(id, [urlType], stringType, (_, url) => read(url as UrlValue))],
});

export const urlLibrary: Library = {
  types: [urlType],
  functions: [
    {
      name: "url",
      overloads: [overload("string_to_url", [stringType], urlType, (meter, text) => parseUrl(meter, text as string))],
    },
    {
      name: "isURL",
      overloads: [
        overload("is_url_string", [stringType], boolType, (meter, text) => !isError(parseUrl(meter, text as string))),
      ],
    },
    part("getScheme", "url_get_scheme", ({ scheme }) => scheme),
    part("getHost", "url_get_host", ({ host }) => host),
    part("getHostname", "url_get_hostname", ({ hostname }) => hostname),
    part("getPort", "url_get_port", ({ port }) => port),
    {
      name: "getEscapedPath",
      overloads: [
        memberOverload("url_get_escaped_path", [urlType], stringType, (meter, url) => {
          meter.allocate(4 * (url as UrlValue).path.length);
          return escapedPath(url as UrlValue);
        }),
      ],
    },
    {
      name: "getQuery",
      overloads: [
        memberOverload("url_get_query", [urlType], mapType(stringType, listType(stringType)), (meter, url) =>
          queryOf(meter, url as UrlValue),
        ),
      ],
    },
  ],
};
