/** Distinguished Encoding Rules, as far as certificates need them. Every function returns a whole tag-length-value. */
export const der = {
  sequence: (...parts: Uint8Array[]): Buffer => encode(0x30, ...parts),
  set: (...parts: Uint8Array[]): Buffer => encode(0x31, ...parts),
  boolean: (value: boolean): Buffer => encode(0x01, Buffer.from([value ? 0xff : 0])),
  /** Big-endian bytes of a non-negative number. */
  integer: (bytes: Uint8Array): Buffer => encode(0x02, unsigned(bytes)),
  bitString: (bytes: Uint8Array, unusedBits = 0): Buffer => encode(0x03, Buffer.from([unusedBits]), bytes),
  octetString: (bytes: Uint8Array): Buffer => encode(0x04, bytes),
  objectId: (id: string): Buffer => encode(0x06, objectIdBytes(id)),
  utf8: (text: string): Buffer => encode(0x0c, Buffer.from(text, "utf8")),
  time: (ms: number): Buffer => timeOf(ms),
  /** `[number] IMPLICIT` over bytes. */
  context: (number: number, bytes: Uint8Array): Buffer => encode(0x80 | number, bytes),
  /** `[number] EXPLICIT` around whole values. */
  explicit: (number: number, ...parts: Uint8Array[]): Buffer => encode(0xa0 | number, ...parts),
};

/** One decoded value: its tag, its content, and where the next one starts. */
export interface DerValue {
  readonly tag: number;
  readonly content: Buffer;
  /** Tag, length and content. */
  readonly whole: Buffer;
}

/** The values inside a constructed one, in order. Throws RangeError if the bytes are cut short, or hold more than `most`. */
export function readDer(bytes: Uint8Array, most = Number.POSITIVE_INFINITY): DerValue[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const values: DerValue[] = [];
  let at = 0;
  while (at < buffer.length) {
    if (values.length >= most) throw new RangeError(`more than ${most} values in DER`);
    const start = at;
    const tag = buffer.readUInt8(at++);
    let length = buffer.readUInt8(at++);
    if (length > 0x7f) {
      const size = length & 0x7f;
      if (size === 0 || size > 4) throw new RangeError(`length of ${size} bytes in DER`);
      length = buffer.readUIntBE(at, size);
      at += size;
    }
    if (at + length > buffer.length) throw new RangeError("DER value is cut short");
    values.push({ tag, content: buffer.subarray(at, at + length), whole: buffer.subarray(start, at + length) });
    at += length;
  }
  return values;
}

/** Decodes an object identifier such as `2.5.4.3`. */
export function readObjectId(content: Uint8Array): string {
  const numbers: number[] = [];
  let value = 0;
  for (const byte of content) {
    value = value * 128 + (byte & 0x7f);
    if (byte & 0x80) continue;
    numbers.push(value);
    value = 0;
  }
  const first = numbers.shift() ?? 0;
  const root = Math.min(Math.floor(first / 40), 2);
  return [root, first - root * 40, ...numbers].join(".");
}

function encode(tag: number, ...parts: Uint8Array[]): Buffer {
  let length = 0;
  for (const part of parts) length += part.length;
  return Buffer.concat([Buffer.from([tag, ...lengthBytes(length)]), ...parts]);
}

function lengthBytes(length: number): number[] {
  if (length < 0x80) return [length];
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
  return [0x80 | bytes.length, ...bytes];
}

/** Removes leading zeros, but keeps one if the top bit would otherwise read as a sign. */
function unsigned(bytes: Uint8Array): Uint8Array {
  let start = 0;
  while (start < bytes.length - 1 && bytes[start] === 0) start++;
  const trimmed = bytes.subarray(start);
  return (trimmed[0] ?? 0) & 0x80 ? Buffer.concat([Buffer.from([0]), trimmed]) : trimmed;
}

function objectIdBytes(id: string): Buffer {
  const [first = 0, second = 0, ...rest] = id.split(".").map(Number);
  const bytes: number[] = [];
  for (const number of [first * 40 + second, ...rest]) {
    const group = [number % 128];
    for (let left = Math.floor(number / 128); left > 0; left = Math.floor(left / 128))
      group.unshift(0x80 | (left % 128));
    bytes.push(...group);
  }
  return Buffer.from(bytes);
}

/** UTCTime until 2049, GeneralizedTime after, as X.509 demands. */
function timeOf(ms: number): Buffer {
  const digits = `${new Date(ms).toISOString().slice(0, 19).replace(/[-:T]/g, "")}Z`;
  return Number(digits.slice(0, 4)) < 2050
    ? encode(0x17, Buffer.from(digits.slice(2)))
    : encode(0x18, Buffer.from(digits));
}
