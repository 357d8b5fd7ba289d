import { promisify } from "node:util";
import zlib from "node:zlib";
import { type Wire } from "./respond.ts";

const gzip = promisify(zlib.gzip);
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

async function zipped(chunks: readonly Uint8Array[]): Promise<Sent> {
  return { chunks: [await gzip(Buffer.concat(chunks), { level: 1 })], encoding: "gzip" };
}
