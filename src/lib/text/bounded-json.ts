const [comma, brace, bracket] = [0x2c, 0x7b, 0x5b];

/**
 * Parses the JSON of somebody who is not trusted. A limit in bytes is not enough: four megabytes of `{},` take a second to
 * parse. Throws if there may be more values than the limit; commas in texts count too.
 */
export function parseBoundedJson(bytes: Uint8Array, maxValues: number): unknown {
  let values = 0;
  for (const byte of bytes) if (byte === comma || byte === brace || byte === bracket) values++;
  if (values > maxValues) throw new RangeError(`more than ${maxValues} values`);
  return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()) as unknown;
}
