/**
 * Bytes for long-term storage. Node cuts small buffers out of slabs of 64 KiB, and one live buffer keeps its whole
 * slab: an hour of events held ten times their own size. These buffers have their own memory.
 */
export function lastingBytes(text: string): Buffer {
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  bytes.write(text, "utf8");
  return bytes;
}

/** Joins the parts into a buffer with its own memory. */
export function lastingConcat(parts: readonly Uint8Array[]): Buffer {
  const bytes = Buffer.allocUnsafeSlow(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
