import { promisify } from "node:util";
import zlib from "node:zlib";
import { Semaphore } from "#lib/async/semaphore.ts";
import { type Wire } from "./respond.ts";

const gzip = promisify(zlib.gzip);
const deflate = promisify(zlib.deflateRaw);
/** Below this, compression costs more than it saves. */
const minBytes = 128 * 1024;

/** Clients that give it any quality value get none, as upstream. */
const acceptsGzip = (accepted = ""): boolean =>
  accepted !== "" && accepted.split(",").some((part) => part.trim() === "gzip");

type Body = Extract<Wire, { type: "body" }>;
type Sent = { readonly chunks: readonly Uint8Array[]; readonly encoding: string | undefined };

/** Compresses large bodies on request, on a thread of the pool. All others are returned synchronously. */
export function compressed({ chunks, contentType }: Body, acceptEncoding: string | undefined): Sent | Promise<Sent> {
  const isWanted = acceptsGzip(acceptEncoding) && !contentType.includes("protobuf");
  const size = isWanted ? chunks.reduce((sum, { length }) => sum + length, 0) : 0;
  return size < minBytes ? { chunks, encoding: undefined } : zipped(chunks);
}

const level = 1;
/** A large body takes long, so its parts are compressed at the same time. They meet at whole bytes, and form one stream. */
const partBytes = 1024 * 1024;
/** The checksum of parts is made on the main thread, which takes a millisecond for a few MiB. */
const maxPartedBytes = 16 * partBytes;
/** The pool has four threads, which also read files. */
const atOnce = 2;

async function zipped(chunks: readonly Uint8Array[]): Promise<Sent> {
  const body = Buffer.concat(chunks);
  const sent = body.length > maxPartedBytes ? [await gzip(body, { level })] : await zippedInParts(body);
  return { chunks: sent, encoding: "gzip" };
}

async function zippedInParts(body: Buffer): Promise<Uint8Array[]> {
  const threads = new Semaphore(atOnce);
  const parts: Promise<Buffer>[] = [];
  for (let start = 0; start < body.length; start += partBytes) {
    const isLast = start + partBytes >= body.length;
    const finishFlush = isLast ? zlib.constants.Z_FINISH : zlib.constants.Z_SYNC_FLUSH;
    const part = body.subarray(start, start + partBytes);
    parts.push(threads.take(() => deflate(part, { level, finishFlush })));
  }
  const trailer = Buffer.alloc(8);
  trailer.writeUInt32LE(zlib.crc32(body), 0);
  trailer.writeUInt32LE(body.length, 4);
  return [header, ...(await Promise.all(parts)), trailer];
}

/** Deflated, without a name and a time, as fast as possible, on an unknown system: RFC 1952. */
const header = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255);
