import { promisify } from "node:util";
import zlib from "node:zlib";
import { type Wire } from "./respond.ts";

const gzip = promisify(zlib.gzip);
/** Below this, compressing costs more than sending. */
const minBytes = 128 * 1024;

/** Clients that name it with a quality, even the best one, do without; as upstream has it. */
const acceptsGzip = (accepted = ""): boolean =>
  accepted !== "" && accepted.split(",").some((part) => part.trim() === "gzip");

type Body = Extract<Wire, { type: "body" }>;
type Sent = { readonly chunks: readonly Uint8Array[]; readonly encoding: string | undefined };

/** Large bodies are compressed for clients that ask for it, on a thread of the pool. All others are there at once. */
export function compressed({ chunks, contentType }: Body, acceptEncoding: string | undefined): Sent | Promise<Sent> {
  const isWanted = acceptsGzip(acceptEncoding) && !contentType.includes("protobuf");
  const size = isWanted ? chunks.reduce((sum, { length }) => sum + length, 0) : 0;
  return size < minBytes ? { chunks, encoding: undefined } : zipped(chunks);
}

async function zipped(chunks: readonly Uint8Array[]): Promise<Sent> {
  return { chunks: [await gzip(Buffer.concat(chunks), { level: 1 })], encoding: "gzip" };
}
