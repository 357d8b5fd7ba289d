import { type Answer } from "#api/exchange.ts";
import { type ApiObject, apiVersionOf, type Resource } from "#api/resource.ts";
import { StatusError } from "#api/status.ts";
import { nextTurn } from "#lib/async/turns.ts";
import { ByteQueue, TinyChunks } from "#lib/data/byte-queue.ts";
import { type WatchEvent } from "../client.ts";
import { LineSplitter, parseWatchEvent } from "./watch-lines.ts";

type Stream = Extract<Answer, { type: "stream" }>;

/** Parsing more would hold up everything else in this process. */
const maxBytes = 4 << 20;
/** How much of all answers of one server may have arrived without being complete. */
const maxPendingBytes = 32 << 20;
/** After so much of a watch it is somebody else's turn. */
const turn = { bytes: 1 << 20, lines: 1000 };

/** The bytes that have arrived of answers that are not complete, for each server. */
export class PendingBytes {
  readonly #bytes = new Map<string, number>();

  /** For one answer of the server that serves this kind. */
  open(resource: Resource): Pending {
    const server = resource.remoteServer ?? apiVersionOf(resource);
    let own = 0;
    const change = (bytes: number): void => {
      const all = (this.#bytes.get(server) ?? 0) + bytes;
      if (all > maxPendingBytes) throw tooMuch(`${maxPendingBytes} bytes that belong to incomplete answers`);
      own += bytes;
      if (all === 0) this.#bytes.delete(server);
      else this.#bytes.set(server, all);
    };
    return {
      add(bytes) {
        if (own + bytes > maxBytes) throw tooMuch(`${maxBytes} bytes`);
        change(bytes);
      },
      clear: () => change(-own),
      [Symbol.dispose]: () => change(-own),
    };
  }
}

interface Pending extends Disposable {
  /** Throws if it is too much. */
  add(bytes: number): void;
  clear(): void;
}

/** The bytes that another server answers, up to a limit. If the result does not matter, they are only received. */
export async function wholeAnswer(
  { status, contentType, body }: Stream,
  { isDropped, pending }: { readonly isDropped: boolean; readonly pending: Pending },
): Promise<Extract<Answer, { type: "bytes" }>> {
  using held = pending;
  const received = new ByteQueue();
  const tiny = new TinyChunks();
  for await (const part of body) {
    tiny.count(part);
    if (isDropped && status < 400) continue;
    held.add(part.byteLength);
    received.push(part);
  }
  const whole = isDropped && status < 400 ? Buffer.from("{}") : received.take(received.size);
  return { type: "bytes", status, contentType, body: whole };
}

/** The events of a watch that another server answers. */
export async function* remoteEvents({ body }: Stream, pending: Pending): AsyncGenerator<WatchEvent<ApiObject>> {
  using held = pending;
  const lines = new LineSplitter();
  let tiny = new TinyChunks();
  let done = { bytes: 0, lines: 0 };
  for await (const chunk of body) {
    tiny.count(chunk);
    held.add(chunk.byteLength);
    for (const line of lines.push(chunk)) {
      held.clear();
      tiny = new TinyChunks();
      done = { bytes: done.bytes + line.length, lines: done.lines + 1 };
      const event = parseWatchEvent(line);
      if (event) yield event;
      if (done.bytes < turn.bytes && done.lines < turn.lines) continue;
      await nextTurn();
      done = { bytes: 0, lines: 0 };
    }
  }
}

const tooMuch = (limit: string): StatusError =>
  new StatusError("InternalError", `another server answered with more than ${limit}`);
