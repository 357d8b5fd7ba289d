import { type ApiRequest } from "#api/exchange.ts";

type Headers = Pick<ApiRequest, "headers" | "rawHeaders">;

/**
 * Every value of a header, in the order in which they were sent. `headers` joins them with commas, and a value may
 * contain commas itself: whoever may choose the name of one group must not be able to name two.
 */
export function headerValues({ headers, rawHeaders }: Headers, name: string): string[] {
  const joined = headers[name];
  if (joined === undefined) return [];
  if (!rawHeaders) return [joined];
  const values: string[] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    if (isName(rawHeaders[index], name)) values.push(rawHeaders[index + 1] ?? "");
  }
  return values;
}

/**
 * The same for all headers whose names start with this, by name. It reads the headers once, because a request may have
 * thousands of them.
 */
export function headersStartingWith({ headers, rawHeaders }: Headers, prefix: string): Map<string, string[]> {
  const found = new Map<string, string[]>();
  const add = (name: string, value: string): void => {
    const values = found.get(name);
    if (values) values.push(value);
    else if (headers[name] !== undefined) found.set(name, [value]);
  };
  if (!rawHeaders) {
    for (const name in headers) if (name.startsWith(prefix)) add(name, headers[name] ?? "");
    return found;
  }
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]?.toLowerCase() ?? "";
    if (name.startsWith(prefix)) add(name, rawHeaders[index + 1] ?? "");
  }
  return found;
}

/** Quick, because every request is asked. Names of objects such as `headers` are slower to go through than a list. */
export function hasHeaderStartingWith({ headers, rawHeaders }: Headers, prefix: string): boolean {
  if (!rawHeaders) return Object.keys(headers).some((name) => name.startsWith(prefix));
  const first = prefix.charCodeAt(0);
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? "";
    if ((name.charCodeAt(0) | caseBit) === first && name.toLowerCase().startsWith(prefix)) return true;
  }
  return false;
}

/** Set in lower-case letters only. */
const caseBit = 0x20;

/** Names are case-insensitive over HTTP/1.1. */
const isName = (sent: string | undefined, name: string): boolean =>
  sent?.length === name.length && sent.toLowerCase() === name;

/** Values by the text after a prefix of header names. Different names may mean the same text: they may be escaped. */
export function extraValues(sent: ReadonlyMap<string, readonly string[]>, prefix: string): Map<string, string[]> {
  const extra = new Map<string, string[]>();
  for (const [name, values] of sent) {
    if (!name.startsWith(prefix)) continue;
    const key = decodedKey(name.slice(prefix.length));
    const known = extra.get(key);
    if (known) known.push(...values);
    else extra.set(key, [...values]);
  }
  return extra;
}

/** As in a URL. */
function decodedKey(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    // Unchanged: upstream keeps keys with invalid encoding.
    return key;
  }
}
