import { type Row } from "./history.ts";

/**
 * Rows as bytes, so that one buffer goes from thread to thread without being copied:
 *
 *     row revision created at expires   five float64
 *     key length, value length          two int32; a value length of -1 is a deletion
 *     key, value
 */
export class RowWriter {
  #buffer: Buffer<ArrayBuffer>;
  #end = 0;

  constructor(sizeBytes: number) {
    this.#buffer = Buffer.allocUnsafeSlow(sizeBytes);
  }

  get sizeBytes(): number {
    return this.#end;
  }

  number(value: number): void {
    this.#end = this.#buffer.writeDoubleLE(value, this.#end);
  }

  /** The caller must have made room: see `rowSizeLimit`. */
  row(row: Row): void {
    const buffer = this.#buffer;
    this.number(row.row);
    this.number(row.revision);
    this.number(row.created);
    this.number(row.at);
    this.number(row.expires);
    const keyBytes = buffer.write(row.key, this.#end + 8, "utf8");
    this.#end = buffer.writeInt32LE(keyBytes, this.#end);
    this.#end = buffer.writeInt32LE(row.value ? row.value.length : -1, this.#end);
    this.#end += keyBytes;
    if (!row.value) return;
    buffer.set(row.value, this.#end);
    this.#end += row.value.length;
  }

  /** The bytes written so far, to be transferred to another thread. */
  finish(): ArrayBuffer {
    return this.#buffer.buffer;
  }
}

/** The maximum number of bytes that this row can take. */
export const rowSizeLimit = (key: string, value: Uint8Array | undefined): number =>
  headBytes + 3 * key.length + (value?.length ?? 0);
const headBytes = 5 * 8 + 2 * 4;

export class RowReader {
  readonly #buffer: Buffer<ArrayBuffer>;
  #at = 0;

  constructor(buffer: ArrayBuffer) {
    this.#buffer = Buffer.from(buffer);
  }

  number(): number {
    const value = this.#buffer.readDoubleLE(this.#at);
    this.#at += 8;
    return value;
  }

  /** The value is a view of the buffer. */
  row(): Row {
    const buffer = this.#buffer;
    const [row, revision, created, at, expires] = [
      this.number(),
      this.number(),
      this.number(),
      this.number(),
      this.number(),
    ];
    const keyBytes = buffer.readInt32LE(this.#at);
    const valueBytes = buffer.readInt32LE(this.#at + 4);
    const keyAt = this.#at + 8;
    const valueAt = keyAt + keyBytes;
    this.#at = valueAt + Math.max(valueBytes, 0);
    const key = buffer.toString("utf8", keyAt, valueAt);
    const value = valueBytes < 0 ? undefined : new Uint8Array(buffer.buffer, valueAt, valueBytes);
    return { row, revision, created, at, expires, key, value };
  }
}
