import { rm } from "node:fs/promises";
import http2 from "node:http2";
import { drained } from "#lib/net/sockets.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { frame, GrpcMessageReader } from "./frames.ts";
import type { Message } from "./message.ts";
import { codeNumber, encodeMessage, GrpcError } from "./status.ts";

/** The same limit as grpc-go. */
const maxRequestBytes = 4 << 20;
const maxHeaderListSize = 16 << 10;
const maxConcurrentStreams = 100;

/** A method that we serve: one request, and one or many replies. */
export interface GrpcMethod {
  readonly path: string;
  answer(request: Uint8Array, signal: AbortSignal): AsyncIterable<Uint8Array>;
}

export const serveUnary = <In, Out>(
  path: string,
  messages: { readonly request: Message<In, never>; readonly response: Message<unknown, Out> },
  answer: (request: In, signal: AbortSignal) => Promise<Out> | Out,
): GrpcMethod => ({
  path,
  async *answer(bytes, signal) {
    yield messages.response.encode(await answer(messages.request.decode(bytes), signal));
  },
});

export const serveStream = <In, Out>(
  path: string,
  messages: { readonly request: Message<In, never>; readonly response: Message<unknown, Out> },
  answer: (request: In, signal: AbortSignal) => AsyncIterable<Out>,
): GrpcMethod => ({
  path,
  async *answer(bytes, signal) {
    for await (const reply of answer(messages.request.decode(bytes), signal)) yield messages.response.encode(reply);
  },
});

/** Serves methods at a unix socket. Replaces a socket that is left over from before. */
export async function serveGrpc(socket: string, methods: readonly GrpcMethod[]): Promise<AsyncDisposable> {
  const byPath = new Map(methods.map((method) => [method.path, method]));
  const server = http2.createServer({ settings: { maxConcurrentStreams, maxHeaderListSize } });
  const sessions = new Set<http2.ServerHttp2Session>();
  server.on("session", (session) => {
    sessions.add(session);
    session.on("close", () => sessions.delete(session));
  });
  server.on("stream", (stream: http2.ServerHttp2Stream, headers) => {
    stream.on("error", () => {}); // The caller has left, and the call's signal has fired.
    void answer(stream, byPath.get(String(headers[":path"])));
  });
  await rm(socket, { force: true });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(socket, resolve);
  });
  return {
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const session of sessions) session.destroy();
      }),
  };
}

async function answer(stream: http2.ServerHttp2Stream, method: GrpcMethod | undefined): Promise<void> {
  const left = new AbortController();
  stream.on("close", () => left.abort());
  let status = { "grpc-status": "0", "grpc-message": "" };
  stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers(status));
  try {
    if (!method) throw new GrpcError("UNIMPLEMENTED", "unknown method");
    const request = await readRequest(stream);
    for await (const reply of method.answer(request, left.signal)) {
      if (stream.destroyed) return;
      if (!stream.write(frame(reply))) await drained(stream);
    }
  } catch (error) {
    const code = error instanceof GrpcError ? error.code : "UNKNOWN";
    const text = messageOf(error);
    status = { "grpc-status": String(codeNumber(code)), "grpc-message": encodeMessage(text) };
    stream.resume();
  }
  if (!stream.destroyed) stream.end();
}

/** The single message of the call. */
async function readRequest(stream: http2.ServerHttp2Stream): Promise<Uint8Array> {
  const frames = new GrpcMessageReader(maxRequestBytes);
  let request: Uint8Array | undefined;
  for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
    for (const message of frames.push(chunk)) {
      if (request) throw new GrpcError("INTERNAL", "the call has more than one message");
      request = message;
    }
  }
  if (!request) throw new GrpcError("INTERNAL", "the call has no message");
  return request;
}
