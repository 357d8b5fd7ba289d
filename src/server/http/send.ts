import type { ServerResponse } from "node:http";
import type http2 from "node:http2";
import { drained } from "#lib/net/sockets.ts";
import { type Served } from "../server.ts";

export function headersOf({ wire, headers, warnings }: Served, encoding?: string): http2.OutgoingHttpHeaders {
  const result: http2.OutgoingHttpHeaders = {
    ":status": wire.type === "watch" || wire.type === "upgrade" ? 200 : wire.status,
    "content-type": wire.type === "upgrade" ? "" : wire.contentType,
    "cache-control": "no-cache, private",
    ...headers,
  };
  if (encoding) Object.assign(result, { "content-encoding": encoding, vary: "Accept-Encoding" });
  if (wire.type !== "watch" && wire.type !== "upgrade" && wire.headers) Object.assign(result, wire.headers);
  if (warnings.length > 0) Object.assign(result, { warning: warnings });
  return result;
}

const nothing = new Uint8Array();
export const sizeOf = (chunks: readonly Uint8Array[]): number => chunks.reduce((sum, { length }) => sum + length, 0);

export function writeChunks(stream: NodeJS.WritableStream, chunks: readonly Uint8Array[]): void {
  const last = chunks.length - 1;
  for (let i = 0; i < last; i++) stream.write(chunks[i] ?? nothing);
  stream.end(chunks[last] ?? nothing);
}

/** Writes as fast as the client reads. */
export async function pump(
  body: AsyncIterable<Uint8Array>,
  stream: http2.ServerHttp2Stream | ServerResponse,
): Promise<void> {
  try {
    for await (const chunk of body) {
      if (stream.destroyed) return;
      if (!stream.write(chunk)) await drained(stream);
    }
    stream.end();
  } catch (error) {
    stream.destroy(error instanceof Error ? error : undefined);
  }
}
