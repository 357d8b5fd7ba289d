import { type ApiObject } from "#api/resource.ts";
import { type Details, StatusError, statusErrorFrom } from "#api/status.ts";
import { initialEventsEndAnnotation } from "#api/well-known.ts";
import { type WatchEvent } from "../client.ts";

/**
 * Splits a byte stream into lines. It works on bytes, so a character that spans two chunks is never broken, and a line
 * is copied only if it spans chunks.
 */
export class LineSplitter {
  #rest: Uint8Array[] = [];

  /** Yields the lines that this chunk completes. */
  *push(chunk: Uint8Array): Generator<string> {
    const buffer = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    let start = 0;
    for (let end = buffer.indexOf(newline); end >= 0; end = buffer.indexOf(newline, start)) {
      const line = this.#take(buffer, start, end);
      start = end + 1;
      if (line) yield line;
    }
    if (start < buffer.length) this.#rest.push(buffer.subarray(start));
  }
  /** The text after the last line break. */
  end(): string {
    const line = Buffer.concat(this.#rest).toString();
    this.#rest = [];
    return line;
  }
  #take(buffer: Buffer, start: number, end: number): string {
    if (this.#rest.length === 0) return buffer.toString("utf8", start, end);
    this.#rest.push(buffer.subarray(start, end));
    return this.end();
  }
}

const newline = 10;

interface WireEvent {
  type: string;
  object: ApiObject & { message?: string; reason?: string; details?: Details; code?: number };
  /** Only from our own server, and only on request. */
  trace?: string;
}

/** One line of a watch. An ERROR event is thrown as the StatusError it holds; unknown types are skipped. */
export function parseWatchEvent(line: string): WatchEvent<ApiObject> | undefined {
  const { type, object, trace } = parseWire(line);
  switch (type) {
    case "ADDED":
    case "MODIFIED":
    case "DELETED":
      return trace ? { type, object, trace } : { type, object };
    case "BOOKMARK": {
      const { resourceVersion = "", annotations } = object.metadata;
      const initialEventsEnd = annotations?.[initialEventsEndAnnotation] === "true";
      return { type, resourceVersion, initialEventsEnd };
    }
    case "ERROR":
      throw statusErrorFrom(object);
    default:
      return undefined;
  }
}

function parseWire(line: string): WireEvent {
  try {
    return JSON.parse(line) as WireEvent;
  } catch (cause) {
    const start = JSON.stringify(line.slice(0, 80));
    throw new StatusError("InternalError", `unable to decode an event from the watch stream: ${start}`, undefined, {
      cause,
    });
  }
}
