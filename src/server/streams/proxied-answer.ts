import type { IncomingMessage } from "node:http";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { nextTurn } from "#lib/async/turns.ts";
import { hopByHop } from "#server/extension/passed-headers.ts";
import { type Answer } from "#server/request/pipeline.ts";
import { type LinkRewrite, rewriteLink, rewritePieces } from "./rewrite-links.ts";

/** Larger pages are passed on unchanged. */
const maxPageBytes = 1 << 20;

/** A backend's response as the client gets it: links in pages lead through the proxy. */
export async function proxiedAnswer(response: IncomingMessage, rewrite: LinkRewrite): Promise<Answer> {
  const headers: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(response.headers)) {
    if (value !== undefined && !hopByHop.has(name) && name !== "content-type") headers[name] = value;
  }
  const status = response.statusCode ?? 502;
  const contentType = response.headers["content-type"] ?? "application/octet-stream";
  const { location } = response.headers;
  if (location) headers.location = rewriteLink(location, rewrite);
  const isPage = !location && contentType.split(";")[0]?.trim() === "text/html";
  const coding = response.headers["content-encoding"];
  if (!isPage || (coding && coding !== "gzip")) return { type: "stream", status, contentType, body: response, headers };
  const chunks = response[Symbol.asyncIterator]();
  const { start, isWhole } = await readStart(chunks);
  const page = isWhole ? await unpacked(Buffer.concat(start), coding) : undefined;
  if (page === undefined) {
    return { type: "stream", status, contentType, body: startThenRest(start, chunks), headers };
  }
  const { "content-length": _length, "content-encoding": _coding, ...others } = headers;
  return { type: "stream", status, contentType, body: rewritten(page, rewrite), headers: others };
}

/** The whole body, or as much of it as shows that it is too large. */
async function readStart(chunks: AsyncIterator<Buffer>): Promise<{ start: Buffer[]; isWhole: boolean }> {
  const start: Buffer[] = [];
  for (let size = 0; size <= maxPageBytes; ) {
    const { value, done } = await chunks.next();
    if (done) return { start, isWhole: true };
    start.push(value);
    size += value.length;
  }
  return { start, isWhole: false };
}

const unzip = promisify(gunzip);

/** undefined if it is too large when decompressed, or is not in this encoding. */
async function unpacked(bytes: Buffer, coding: string | undefined): Promise<Buffer | undefined> {
  if (!coding || bytes.length === 0) return bytes;
  try {
    return await unzip(bytes, { maxOutputLength: maxPageBytes });
  } catch {
    return undefined;
  }
}

async function* startThenRest(start: readonly Buffer[], rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* start;
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
}

/** In pieces, with a turn for others after each: a page of links would otherwise take half a second. */
async function* rewritten(page: Buffer, rewrite: LinkRewrite): AsyncGenerator<Buffer> {
  for (const piece of rewritePieces(page.toString(), rewrite)) {
    yield Buffer.from(piece);
    await nextTurn();
  }
}
