import http2 from "node:http2";

/** Bytes of the request in, bytes of the reply out; an error becomes the call's status. */
export type GrpcHandler = (request: Uint8Array) => Promise<Uint8Array> | Uint8Array;

/** A server for tests that answers calls of one message each way, at a unix socket. */
export async function serveGrpc(
  path: string,
  handlers: Readonly<Record<string, GrpcHandler>>,
): Promise<AsyncDisposable> {
  const server = http2.createServer();
  const sessions = new Set<http2.ServerHttp2Session>();
  server.on("session", (session) => {
    sessions.add(session);
    session.on("close", () => sessions.delete(session));
  });
  server.on("stream", (stream: http2.ServerHttp2Stream, headers) => {
    const chunks: Buffer[] = [];
    stream.on("error", () => {});
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("end", () => void answer(stream, handlers[String(headers[":path"])], Buffer.concat(chunks).subarray(5)));
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return {
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const session of sessions) session.destroy();
      }),
  };
}

async function answer(
  stream: http2.ServerHttp2Stream,
  handler: GrpcHandler | undefined,
  request: Buffer,
): Promise<void> {
  const head = { ":status": 200, "content-type": "application/grpc" };
  const refuse = (status: number, text: string) =>
    stream.respond(
      { ...head, "grpc-status": String(status), "grpc-message": encodeURIComponent(text) },
      { endStream: true },
    );
  if (!handler) return refuse(12, "unknown method");
  try {
    const reply = await handler(request);
    const length = Buffer.alloc(5);
    length.writeUInt32BE(reply.length, 1);
    stream.respond(head, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    stream.end(Buffer.concat([length, reply]));
  } catch (error) {
    refuse(2, error instanceof Error ? error.message : String(error));
  }
}
