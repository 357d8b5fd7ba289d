import { constants, createInflate, type Inflate } from "node:zlib";
import { spdyDictionary } from "./dictionary.ts";

export type SpdyHeaders = Readonly<Record<string, string>>;

/** zlib's first two bytes with the preset-dictionary flag, then the checksum that names the dictionary of SPDY/3. */
const zlibStart = Buffer.from([0x78, 0xbb, 0xe3, 0xc6, 0xa7, 0xc2]);

/** Flushes the decompressor: without it, some readers wait for more. */
const emptyBlock = Buffer.from([0, 0, 0, 0xff, 0xff]);

/**
 * Header blocks of one direction of a connection: one zlib stream that is flushed after each block. The few short
 * headers that open a stream are not worth compressing, so they go into deflate's stored blocks. These refer to nothing
 * before them, so the dictionary itself is not needed.
 */
export class HeaderEncoder {
  #hasStarted = false;

  encode(headers: SpdyHeaders): Buffer {
    const plain = plainBlock(headers);
    if (plain.length > 0xffff) throw new RangeError(`headers of ${plain.length} bytes do not fit in one block`);
    const stored = Buffer.alloc(5);
    stored.writeUInt16LE(plain.length, 1);
    stored.writeUInt16LE(plain.length ^ 0xffff, 3);
    const start = this.#hasStarted ? [] : [zlibStart];
    this.#hasStarted = true;
    return Buffer.concat([...start, stored, plain, emptyBlock]);
  }
}

/** The count, then each name and value after its length. Names are in lower case. */
function plainBlock(headers: SpdyHeaders): Buffer {
  const entries = Object.entries(headers);
  const texts = entries.flatMap(([name, value]) => [name.toLowerCase(), value]);
  return Buffer.concat([
    uint32(entries.length),
    ...texts.flatMap((text) => [uint32(Buffer.byteLength(text)), Buffer.from(text)]),
  ]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** What the headers of one stream may take. Those of commands and ports take less than a hundred bytes. */
const maxHeaderBytes = 64 << 10;

/** The other direction: reads the blocks of a peer, in their order. */
export class HeaderDecoder implements Disposable {
  readonly #inflate: Inflate;
  #chunks: Buffer[] = [];
  #size = 0;
  #failure: Error | undefined;

  constructor() {
    this.#inflate = createInflate({ dictionary: spdyDictionary(), flush: constants.Z_SYNC_FLUSH });
    this.#inflate.on("data", (chunk: Buffer) => this.#take(chunk));
    this.#inflate.on("error", (error) => {
      this.#failure ??= error;
    });
  }

  async decode(block: Uint8Array): Promise<SpdyHeaders> {
    this.#chunks = [];
    this.#size = 0;
    await new Promise<void>((resolve) => {
      this.#inflate.once("close", resolve);
      this.#inflate.write(block, () => resolve());
    });
    this.#inflate.removeAllListeners("close");
    if (this.#failure) throw new Error(`the headers of a stream cannot be read: ${this.#failure.message}`);
    return readPlain(Buffer.concat(this.#chunks));
  }

  [Symbol.dispose](): void {
    this.#inflate.destroy();
  }

  #take(chunk: Buffer): void {
    this.#size += chunk.length;
    if (this.#size <= maxHeaderBytes) this.#chunks.push(chunk);
    else this.#inflate.destroy(new Error(`they have more than ${maxHeaderBytes} bytes`));
  }
}

function readPlain(plain: Buffer): SpdyHeaders {
  let at = 0;
  const next = (size: number): Buffer => {
    if (at + size > plain.length) throw new Error("the headers of a stream end too early");
    at += size;
    return plain.subarray(at - size, at);
  };
  const text = (): string => next(next(4).readUInt32BE()).toString();
  const count = next(4).readUInt32BE();
  const headers = new Map<string, string>();
  for (let index = 0; index < count; index++) headers.set(text(), text());
  return Object.fromEntries(headers);
}
