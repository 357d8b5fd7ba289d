/** Bytes that arrived in pieces and are taken in other pieces. Copies only where a piece spans several arrivals. */
export class ByteQueue {
  #chunks: Buffer[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push(chunk: Uint8Array): void {
    if (chunk.length === 0) return;
    this.#chunks.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length));
    this.#size += chunk.length;
  }

  /** The first bytes, which stay. There must be that many. */
  peek(count: number): Buffer {
    this.#gather(count);
    return (this.#chunks[0] ?? nothing).subarray(0, count);
  }

  /** The first bytes, which are gone then. There must be that many. */
  take(count: number): Buffer {
    if (count === 0) return nothing;
    this.#gather(count);
    const first = this.#chunks[0] ?? nothing;
    this.#size -= count;
    if (first.length === count) this.#chunks.shift();
    else this.#chunks[0] = first.subarray(count);
    return first.subarray(0, count);
  }

  /** Makes the first chunk at least this long. */
  #gather(count: number): void {
    if (count > this.#size) throw new RangeError(`${count} bytes wanted of ${this.#size}`);
    let have = this.#chunks[0]?.length ?? 0;
    let chunks = 1;
    while (have < count) have += this.#chunks[chunks++]?.length ?? 0;
    if (chunks > 1) this.#chunks.unshift(Buffer.concat(this.#chunks.splice(0, chunks), have));
  }
}

const nothing = Buffer.alloc(0);
