import { type UserInfo } from "#api/exchange.ts";

/** How an extension server learns who the caller is: it believes these headers because of our certificate. */
export function identityHeaders({ name, uid, groups, extra = {} }: UserInfo): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = { "x-remote-user": inHeader(name) };
  if (uid) headers["x-remote-uid"] = inHeader(uid);
  if (groups.length > 0) headers["x-remote-group"] = groups.map(inHeader);
  for (const [key, values] of Object.entries(extra)) {
    if (values.length > 0) headers[`x-remote-extra-${escapeKey(key)}`] = values.map(inHeader);
  }
  return headers;
}

/** Go reads and writes headers as bytes of UTF-8, and Node one byte for each character. */
const inHeader = (text: string): string => Buffer.from(text).toString("latin1");

const plain = /[a-z0-9!#$&'*+.^_`|~-]/i;

/** A key may have any characters, but the name of a header may not. */
function escapeKey(key: string): string {
  let escaped = "";
  for (const byte of Buffer.from(key)) {
    const character = String.fromCharCode(byte);
    escaped += plain.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return escaped;
}
