import { promisify } from "node:util";
import zlib from "node:zlib";
import { type Wire } from "./respond.ts";

const gzip = promisify(zlib.gzip);
/** Below this, compressing costs more than sending. */
const minBytes = 128 * 1024;

/** Clients that name it with a quality, even the best one, do without; as upstream has it. */
const acceptsGzip = (accepted = ""): boolean => accepted.split(",").some((part) => part.trim() === "gzip");

type Body = Extract<Wire, { type: "body" }>;

/** Large bodies are compressed for clients that ask for it, on a thread of the pool. */
export async function compressed(
  { chunks, contentType }: Body,
  acceptEncoding: string | undefined,
): Promise<{ chunks: readonly Uint8Array[]; encoding: string | undefined }> {
  if (!acceptsGzip(acceptEncoding) || contentType.includes("protobuf")) return { chunks, encoding: undefined };
  const size = chunks.reduce((sum, { length }) => sum + length, 0);
  if (size < minBytes) return { chunks, encoding: undefined };
  const body = await gzip(Buffer.concat(chunks), { level: 1 });
  return { chunks: [body], encoding: "gzip" };
}
