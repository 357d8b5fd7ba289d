/** The longest beginning of a text that takes at most this many bytes as UTF-8. No character is cut in two. */
export function truncateBytes(text: string, maxBytes: number): string {
  // No UTF-16 unit takes more than three bytes.
  if (text.length * 3 <= maxBytes) return text;
  const bytes = new Uint8Array(maxBytes);
  const { read } = new TextEncoder().encodeInto(text, bytes);
  return read === text.length ? text : text.slice(0, read);
}
