const nothing = Buffer.alloc(0);
/** Smaller chunks are joined: a Buffer for each byte would take a hundred times its size. */
const smallBytes = 1024;
const blockBytes = 8 << 10;
const tinyBytes = 64;
/** Receiving a chunk takes some microseconds, whatever its size: more than a million of them fit into a body. */
const maxTinyChunks = 10_000;

/** Somebody sends bytes in so many tiny chunks that receiving them would hold up everybody else. */
export class TooManyChunksError extends Error {
  override readonly name = "TooManyChunksError";
  constructor() {
    super(`more than ${maxTinyChunks} chunks have less than ${tinyBytes} bytes`);
  }
}

/** Counts the chunks of one body. Throws `TooManyChunksError`. */
export class TinyChunks {
  #count = 0;

  count(chunk: Uint8Array): void {
    if (chunk.length < tinyBytes && ++this.#count > maxTinyChunks) throw new TooManyChunksError();
  }
}

/** Bytes that arrive in chunks and are taken in other sizes. Copies only small chunks, and ranges that span several. */
export class ByteQueue {
  #chunks: Buffer[] = [];
  /** Free space behind the last chunk, for small arrivals. */
  #room: Buffer = nothing;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push(chunk: Uint8Array): void {
    if (chunk.length === 0) return;
    this.#size += chunk.length;
    if (chunk.length < smallBytes) return this.#join(chunk);
    this.#chunks.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length));
    this.#room = nothing;
  }

  /** Appends a small chunk to the last one, if that was small too. */
  #join(chunk: Uint8Array): void {
    const last = this.#chunks.at(-1);
    if (last && this.#room.length >= chunk.length) {
      this.#room.set(chunk);
      this.#room = this.#room.subarray(chunk.length);
      this.#chunks[this.#chunks.length - 1] = Buffer.from(last.buffer, last.byteOffset, last.length + chunk.length);
    } else if (last && last.length < smallBytes) {
      const block = Buffer.allocUnsafeSlow(blockBytes);
      const size = last.length + chunk.length;
      block.set(last);
      block.set(chunk, last.length);
      this.#chunks[this.#chunks.length - 1] = block.subarray(0, size);
      this.#room = block.subarray(size);
    } else {
      this.#chunks.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length));
      this.#room = nothing;
    }
  }

  /** Returns the first bytes without removing them. There must be that many. */
  peek(count: number): Buffer {
    this.#gather(count);
    return (this.#chunks[0] ?? nothing).subarray(0, count);
  }

  /** Removes and returns the first bytes. There must be that many. */
  take(count: number): Buffer {
    if (count === 0) return nothing;
    this.#gather(count);
    const first = this.#chunks[0] ?? nothing;
    this.#size -= count;
    if (first.length === count) this.#drop();
    else this.#chunks[0] = first.subarray(count);
    return first.subarray(0, count);
  }

  #drop(): void {
    this.#chunks.shift();
    if (this.#chunks.length === 0) this.#room = nothing;
  }

  /** Makes the first chunk at least this long. */
  #gather(count: number): void {
    if (count > this.#size) throw new RangeError(`${count} bytes wanted of ${this.#size}`);
    let have = this.#chunks[0]?.length ?? 0;
    let chunks = 1;
    while (have < count) have += this.#chunks[chunks++]?.length ?? 0;
    if (chunks < 2) return;
    if (chunks === this.#chunks.length) this.#room = nothing;
    this.#chunks.unshift(Buffer.concat(this.#chunks.splice(0, chunks), have));
  }
}
