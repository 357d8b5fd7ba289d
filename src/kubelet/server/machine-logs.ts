import type { ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { methodNotAllowed, StatusError } from "#api/status.ts";
import { LeadsOut, openBelow } from "#lib/fs/open-below.ts";
import type { Place } from "#lib/fs/place.ts";
import { errorCode, isGone } from "#lib/text/error-code.ts";
import type { NodeRequest } from "./requests.ts";

/** Nobody reads more names than these. */
const maxNames = 10_000;

/** GET /logs/PATH: the machine's logs, and lists of its directories. Links are followed as long as they stay in there. */
export async function machineLogs(dir: string, request: NodeRequest, response: ServerResponse): Promise<void> {
  const { method } = request.message;
  if (method !== "GET" && method !== "HEAD") throw methodNotAllowed();
  const names = request.path.slice(1);
  if (names.some((name) => /[/\0]/.test(name))) throw noSuchPage();
  await using place = await open(dir, names.join("/"));
  const stats = await place.stat();
  const endsInSlash = names.length > 0 && names.at(-1) === "";
  if (stats.isDirectory()) {
    if (endsInSlash) return await sendNames(place, response);
    const last = encodeURIComponent(names.at(-1) ?? "logs");
    response.writeHead(301, { location: `${last}/` }).end();
    return;
  }
  // A device or a pipe is not a log, and reading it may never end.
  if (!stats.isFile() || endsInSlash) throw noSuchPage();
  await sendFile(place, { sizeBytes: stats.size, name: names.at(-1) ?? "", request }, response);
}

async function open(dir: string, path: string): Promise<Place> {
  try {
    return await openBelow(dir, path);
  } catch (error) {
    if (isGone(error) || error instanceof LeadsOut || errorCode(error) === "ENOTDIR") throw noSuchPage();
    if (errorCode(error) === "EACCES") throw new StatusError("Forbidden", "403 Forbidden");
    throw error;
  }
}
const noSuchPage = (): StatusError => new StatusError("NotFound", "404 page not found");

async function sendNames(place: Place, response: ServerResponse): Promise<void> {
  const names: string[] = [];
  for await (const name of place.names()) {
    if (names.push(name.toString()) >= maxNames) break;
  }
  const lines = names.toSorted().map((name) => `<a href="./${encodeURIComponent(name)}">${escapeHtml(name)}</a>\n`);
  response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(`<pre>\n${lines.join("")}</pre>\n`);
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&#34;",
  "'": "&#39;",
};
const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => entities[character] ?? "");

interface Sending {
  readonly sizeBytes: number;
  readonly name: string;
  readonly request: NodeRequest;
}

/** As much as the file had at the beginning: it may grow as fast as it is read. */
async function sendFile(place: Place, { sizeBytes, name, request }: Sending, response: ServerResponse): Promise<void> {
  const isText = !/\.(gz|xz|zst|bz2|journal)$/.test(name);
  response.writeHead(200, {
    "content-type": isText ? "text/plain; charset=utf-8" : "application/octet-stream",
    "content-length": sizeBytes,
    // A log may contain what somebody else wrote.
    "x-content-type-options": "nosniff",
  });
  if (request.message.method === "HEAD" || sizeBytes === 0) {
    response.end();
    return;
  }
  await using file = await place.content();
  await pipeline(file.createReadStream({ end: sizeBytes - 1, autoClose: false }), response, { signal: request.signal });
}
