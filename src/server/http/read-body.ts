import type { IncomingMessage } from "node:http";
import type { ServerHttp2Stream } from "node:http2";
import { promisify } from "node:util";
import zlib from "node:zlib";
import { badRequest, requestTimeout, unsupportedMediaType } from "#api/status.ts";
import { ByteQueue, TinyChunks, TooManyChunksError } from "#lib/data/byte-queue.ts";
import { type Connection, type Receiving } from "./connections.ts";
import { bodyTooLarge, maxBodyBytes } from "./limits.ts";

export type BodySource = ServerHttp2Stream | IncomingMessage;

export interface BodyOptions {
  readonly connection: Connection;
  readonly startedMs: number;
  /** Counts received bytes. Throws if there are too many; then no more are read. */
  count(bytes: number): void;
}

/** Reads a body as it was sent, up to the limit and within the deadline of its connection. */
export function readBody(source: BodySource, { connection, startedMs, count }: BodyOptions): Promise<Uint8Array> {
  // An empty body ends by itself, perhaps before the request has its turn. Then no event comes any more.
  if (source.readableEnded) return Promise.resolve(new Uint8Array());
  if (source.destroyed) return Promise.reject(hungUp());
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
  // Joins small chunks: a client may send each byte in a chunk of its own.
  let received = new ByteQueue();
  const tiny = new TinyChunks();
  const receiving: Receiving = { startedMs, expire: () => stop(requestTimeout()) };
  const stop = (fault: unknown): void => {
    connection.receiving.delete(receiving);
    received = new ByteQueue();
    source.pause();
    source.removeAllListeners("data");
    reject(fault);
  };
  const add = (chunk: Buffer): void => {
    if (received.size + chunk.length > maxBodyBytes) throw bodyTooLarge();
    tiny.count(chunk);
    count(chunk.length);
    connection.bodyBytes += chunk.length;
    received.push(chunk);
  };
  connection.receiving.add(receiving);
  source.on("data", (chunk: Buffer) => {
    try {
      add(chunk);
    } catch (fault) {
      stop(fault instanceof TooManyChunksError ? badRequest(fault.message) : fault);
    }
  });
  source.once("end", () => {
    connection.receiving.delete(receiving);
    resolve(received.take(received.size));
  });
  source.once("close", () => {
    if (!source.readableEnded) stop(hungUp());
  });
  return promise;
}

const hungUp = () => badRequest("the client hung up before the body was complete");

const gunzip = promisify(zlib.gunzip);

/** A compressed body must be within the limit after decompression too. */
export async function decompressed(body: Uint8Array, encoding: string): Promise<Uint8Array> {
  try {
    if (encoding === "gzip") return await gunzip(body, { maxOutputLength: maxBodyBytes });
  } catch (error) {
    if (error instanceof RangeError) throw bodyTooLarge();
    throw badRequest("the body is not valid gzip");
  }
  throw unsupportedMediaType(`the content encoding ${JSON.stringify(encoding)} is not supported: use gzip or none`);
}
