import { type Answer } from "#api/exchange.ts";
import { type ApiObject } from "#api/resource.ts";
import { StatusError } from "#api/status.ts";
import { ByteQueue, TinyChunks } from "#lib/data/byte-queue.ts";
import { type WatchEvent } from "../client.ts";
import { LineSplitter, parseWatchEvent } from "./watch-lines.ts";

type Stream = Extract<Answer, { type: "stream" }>;

/** Parsing more would hold up everything else in this process. */
const maxBytes = 4 << 20;

/** The bytes that another server answers, up to a limit. If the result does not matter, they are only received. */
export async function wholeAnswer(
  { status, contentType, body }: Stream,
  { isDropped }: { readonly isDropped: boolean },
): Promise<Extract<Answer, { type: "bytes" }>> {
  const received = new ByteQueue();
  const tiny = new TinyChunks();
  for await (const part of body) {
    tiny.count(part);
    if (isDropped && status < 400) continue;
    if (received.size + part.byteLength > maxBytes) throw tooLong();
    received.push(part);
  }
  const whole = isDropped && status < 400 ? Buffer.from("{}") : received.take(received.size);
  return { type: "bytes", status, contentType, body: whole };
}

/** The events of a watch that another server answers. */
export async function* remoteEvents({ body }: Stream): AsyncGenerator<WatchEvent<ApiObject>> {
  const lines = new LineSplitter();
  let size = 0;
  for await (const chunk of body) {
    size += chunk.byteLength;
    for (const line of lines.push(chunk)) {
      size = 0;
      const event = parseWatchEvent(line);
      if (event) yield event;
    }
    if (size > maxBytes) throw tooLong();
  }
}

const tooLong = (): StatusError =>
  new StatusError("InternalError", `another server answered with more than ${maxBytes} bytes`);
