import { promisify } from "node:util";
import zlib from "node:zlib";
import { type ApiRequest, type Peer } from "#api/exchange.ts";
import { badRequest, StatusError, tooLarge, unsupportedMediaType } from "#api/status.ts";

/** Upstream's limit for the body of a write. */
export const maxBodyBytes = 3 * 1024 * 1024;

/** A request that came over a socket. The signal is made only if somebody asks for it. */
export class WireRequest implements ApiRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: ApiRequest["headers"];
  readonly peer: Peer;
  body: Uint8Array | undefined;
  #abort: AbortController | undefined;
  #isGone = false;

  constructor(method: string, url: string, headers: ApiRequest["headers"], peer: Peer) {
    const question = url.indexOf("?");
    this.method = method;
    this.path = question < 0 ? url : url.slice(0, question);
    this.query = question < 0 ? "" : url.slice(question + 1);
    this.headers = headers;
    this.peer = peer;
  }

  get signal(): AbortSignal {
    this.#abort ??= new AbortController();
    if (this.#isGone) this.#abort.abort();
    return this.#abort.signal;
  }

  /** The answer is on its way, whole: nobody waits for anything any more. */
  answered(): void {
    this.#abort = undefined;
  }

  /** The client hung up. */
  gone(): void {
    this.#isGone = true;
    this.#abort?.abort();
  }
}

/** Collects a body up to the limit. */
export class BodyCollector {
  readonly #chunks: Uint8Array[] = [];
  #size = 0;

  add(chunk: Uint8Array): void {
    this.#size += chunk.length;
    if (this.#size > maxBodyBytes) throw bodyTooLarge();
    this.#chunks.push(chunk);
  }
  whole(): Uint8Array {
    const [only] = this.#chunks;
    return only && this.#chunks.length === 1 ? only : Buffer.concat(this.#chunks, this.#size);
  }
}

export const bodyTooLarge = (): StatusError => tooLarge(`Request entity too large: limit is ${maxBodyBytes}`);

const gunzip = promisify(zlib.gunzip);

/** What was compressed must be within the limit after decompression too. */
export async function decompressed(body: Uint8Array, encoding: string | undefined): Promise<Uint8Array> {
  if (!encoding || encoding === "identity") return body;
  if (encoding !== "gzip")
    throw unsupportedMediaType(`the content encoding ${JSON.stringify(encoding)} is not supported: use gzip or none`);
  try {
    return await gunzip(body, { maxOutputLength: maxBodyBytes });
  } catch (error) {
    if (error instanceof RangeError) throw bodyTooLarge();
    throw badRequest("the body is not valid gzip");
  }
}
