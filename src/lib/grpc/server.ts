import { rm } from "node:fs/promises";
import http2 from "node:http2";
import { messageOf } from "../message-of.ts";
import type { Message } from "./message.ts";
import { codeNumber, GrpcError } from "./status.ts";

/** A method that we serve: one message in, and one or many out. */
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

/** Serves methods at a unix socket; a socket that is left there from before is replaced. */
export async function serveGrpc(socket: string, methods: readonly GrpcMethod[]): Promise<AsyncDisposable> {
  const byPath = new Map(methods.map((method) => [method.path, method]));
  const server = http2.createServer();
  const sessions = new Set<http2.ServerHttp2Session>();
  server.on("session", (session) => {
    sessions.add(session);
    session.on("close", () => sessions.delete(session));
  });
  server.on("stream", (stream: http2.ServerHttp2Stream, headers) => {
    const chunks: Buffer[] = [];
    stream.on("error", () => {}); // The caller has left; its signal says so.
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("end", () => void answer(stream, byPath.get(String(headers[":path"])), Buffer.concat(chunks)));
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

async function answer(stream: http2.ServerHttp2Stream, method: GrpcMethod | undefined, body: Buffer): Promise<void> {
  const left = new AbortController();
  stream.on("close", () => left.abort());
  let status = { "grpc-status": "0", "grpc-message": "" };
  stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers(status));
  try {
    if (!method) throw new GrpcError("UNIMPLEMENTED", "unknown method");
    for await (const reply of method.answer(body.subarray(5), left.signal)) {
      if (stream.destroyed) return;
      const head = Buffer.alloc(5);
      head.writeUInt32BE(reply.length, 1);
      stream.write(Buffer.concat([head, reply]));
    }
  } catch (error) {
    const code = error instanceof GrpcError ? error.code : "UNKNOWN";
    const text = messageOf(error);
    status = { "grpc-status": String(codeNumber(code)), "grpc-message": encodeURIComponent(text) };
  }
  if (!stream.destroyed) stream.end();
}
