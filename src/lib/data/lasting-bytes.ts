/**
 * Bytes that are kept for long. Node cuts small buffers out of slabs of 64 KiB, and one that is kept keeps its slab: an hour of
 * events held ten times their own size. These have memory of their own.
 */
export function lastingBytes(text: string): Buffer {
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  bytes.write(text, "utf8");
  return bytes;
}

/** The parts joined, in memory of their own. */
export function lastingConcat(parts: readonly Uint8Array[]): Buffer {
  const bytes = Buffer.allocUnsafeSlow(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
