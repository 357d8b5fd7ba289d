/** What the first bytes of a connection say. */
export type Opening =
  /** Nothing can be said before there are this many bytes. */
  | { readonly type: "incomplete"; readonly needed: number }
  /** A whole hello. The name is in lower case, and undefined if the client named no host. */
  | { readonly type: "hello"; readonly serverName: string | undefined }
  /** No hello of TLS, or one that breaks the rules. */
  | { readonly type: "unreadable"; readonly why: string }
  | { readonly type: "too long" };

/** More than any client sends: with keys against quantum computers they have about 2 KiB. */
export const maxHelloBytes = 16 << 10;
/** A hello may be spread over records of a few bytes, each with a header. */
const maxRecords = 64;

const recordHeader = 5;
const messageHeader = 4;
const handshakeRecord = 22;
const clientHello = 1;
const maxRecordBytes = 16 << 10;
/** No opening that is still incomplete has more bytes. */
export const maxOpeningBytes = maxHelloBytes + messageHeader + maxRecords * recordHeader;

/**
 * Reads the ClientHello at the beginning of a TLS connection (RFC 8446, RFC 6066), and nothing that follows it. It may
 * be in several records. What two readers might understand differently is unreadable.
 */
export function readClientHello(bytes: Uint8Array): Opening {
  try {
    const message = joinRecords(bytes);
    if (!(message instanceof Uint8Array)) return message;
    return { type: "hello", serverName: serverNameOf(new Fields(message)) };
  } catch (error) {
    if (error instanceof HelloError) return { type: "unreadable", why: error.message };
    throw error;
  }
}

class HelloError extends Error {
  override readonly name = "HelloError";
}

/** The body of the hello, once all of its records are there. */
function joinRecords(bytes: Uint8Array): Uint8Array | Opening {
  const parts: Uint8Array[] = [];
  /** How much of the message the records say that they have. */
  let announced = 0;
  let wanted: number | undefined;
  for (let at = 0, records = 1; ; records++) {
    if (records > maxRecords) return { type: "too long" };
    const length = recordLengthAt(bytes, at);
    if (length === undefined) return { type: "incomplete", needed: at + recordHeader };
    const start = at + recordHeader;
    parts.push(bytes.subarray(start, start + length));
    announced += length;
    wanted ??= wantedBytes(parts);
    if (wanted !== undefined && wanted > messageHeader + maxHelloBytes) return { type: "too long" };
    if (wanted !== undefined && announced > wanted) throw new HelloError("the record of the hello has something else");
    if (bytes.length < start + length) return { type: "incomplete", needed: start + length };
    if (announced === wanted) return Buffer.concat(parts).subarray(messageHeader);
    at = start + length;
  }
}

/** Undefined if the header is not there yet. What is there must be right, so that other protocols are known at once. */
function recordLengthAt(bytes: Uint8Array, at: number): number | undefined {
  const [type, major, minor, high, low] = bytes.subarray(at, at + recordHeader);
  if (type !== undefined && type !== handshakeRecord) throw new HelloError("it does not begin with a handshake");
  if (major !== undefined && major !== 3) throw new HelloError("it is not a version of TLS");
  if (minor !== undefined && minor > 4) throw new HelloError("it is not a version of TLS");
  if (high === undefined || low === undefined) return undefined;
  const length = (high << 8) | low;
  if (length === 0 || length > maxRecordBytes) throw new HelloError("a record has a length that is not possible");
  return length;
}

/** The length of the whole message with its header; undefined if the header is not there yet. */
function wantedBytes(parts: readonly Uint8Array[]): number | undefined {
  const [type, high, middle, low] = Buffer.concat(parts, messageHeader);
  const joined = parts.reduce((sum, { length }) => sum + length, 0);
  if (joined > 0 && type !== clientHello) throw new HelloError("the first message is not a hello");
  if (joined < messageHeader || high === undefined || middle === undefined || low === undefined) return undefined;
  return messageHeader + ((high << 16) | (middle << 8) | low);
}

function serverNameOf(hello: Fields): string | undefined {
  const randomBytes = 32;
  if (hello.uint(2) >> 8 !== 3) throw new HelloError("it is not a version of TLS");
  hello.bytes(randomBytes);
  const session = hello.vector(1);
  const suites = hello.vector(2);
  const compressions = hello.vector(1);
  const isPossible = session.left <= 32 && suites.left >= 2 && suites.left % 2 === 0 && compressions.left >= 1;
  if (!isPossible) throw new HelloError("a field has a length that is not possible");
  // Clients before TLS 1.2 may have none.
  if (hello.left === 0) return undefined;
  const extensions = hello.vector(2);
  hello.end();
  return nameIn(extensions);
}

const serverNameExtension = 0;

function nameIn(extensions: Fields): string | undefined {
  const seen = new Set<number>();
  let name: string | undefined;
  while (extensions.left > 0) {
    const type = extensions.uint(2);
    const content = extensions.vector(2);
    // Readers differ in which of two they use.
    if (seen.has(type)) throw new HelloError("an extension is there twice");
    seen.add(type);
    if (type === serverNameExtension) name = readName(content);
  }
  return name;
}

const hostName = 0;

function readName(extension: Fields): string {
  const names = extension.vector(2);
  extension.end();
  const type = names.uint(1);
  const name = names.vector(2);
  names.end();
  if (type !== hostName) throw new HelloError("the name of the server is not a host");
  const text = Buffer.from(name.bytes(name.left)).toString("latin1").toLowerCase();
  if (!isHost(text)) throw new HelloError("the name of the server is not a host");
  return text;
}

const isHost = (text: string): boolean =>
  text.length <= 253 && /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*$/.test(text);

/** Reads fields one after the other. Fails if there are too few bytes. */
class Fields {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }
  get left(): number {
    return this.#bytes.length - this.#at;
  }
  bytes(count: number): Uint8Array {
    if (count > this.left) throw new HelloError("a field is longer than what contains it");
    this.#at += count;
    return this.#bytes.subarray(this.#at - count, this.#at);
  }
  uint(size: 1 | 2): number {
    const [high = 0, low = 0] = this.bytes(size);
    return size === 1 ? high : (high << 8) | low;
  }
  /** A field that begins with its length. */
  vector(sizeOfLength: 1 | 2): Fields {
    return new Fields(this.bytes(this.uint(sizeOfLength)));
  }
  end(): void {
    if (this.left > 0) throw new HelloError("a field is shorter than what contains it");
  }
}
