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

/** Names are case-insensitive over HTTP/1.1. */
const isName = (sent: string | undefined, name: string): boolean =>
  sent?.length === name.length && sent.toLowerCase() === name;

/** The text after the prefix of a header's name: it may be escaped as in a URL. */
export function decodedKey(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    // Unchanged: upstream keeps keys with invalid encoding.
    return key;
  }
}
