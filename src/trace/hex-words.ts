/** Ids of 8n lower-case hex digits, kept as n numbers each. */

/** Eight digits as a number; several times as fast as `parseInt` of a slice. */
export function wordAt(hex: string, from: number): number {
  let value = 0;
  for (let at = from; at < from + 8; at++) {
    const code = hex.charCodeAt(at);
    value = (value << 4) | (code < 58 ? code - 48 : code - 87);
  }
  return value >>> 0;
}

export function putWords(words: Uint32Array, at: number, hex: string): void {
  for (let from = 0; from < hex.length; from += 8) words[at++] = wordAt(hex, from);
}

export function hexOf(words: Uint32Array, at: number, count: number): string {
  let hex = "";
  for (let i = at; i < at + count; i++) hex += (words[i] ?? 0).toString(16).padStart(8, "0");
  return hex;
}
