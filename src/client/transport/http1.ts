import {
  type AgentOptions,
  type ClientRequest,
  type OutgoingHttpHeaders,
  Agent as PlainAgent,
  request as plainRequest,
} from "node:http";
import { Agent as TlsAgent, request as tlsRequest } from "node:https";
import { Readable } from "node:stream";
import { type ConnectionOptions } from "node:tls";
import { flat, maxInterim, type StreamTransport, tooManyInterim, WireError } from "./wire.ts";

/** HTTP/1.1 without TLS. */
export function plainTransport(url: URL): StreamTransport {
  const agent = new PlainAgent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
  const { hostname: host, port } = url;
  return http1Transport(agent, (head) => plainRequest({ ...head, host, port: port || 80, agent }));
}

/** How many connections there may be at the same time, and how many of them are kept while they are idle. */
export type SocketLimits = Pick<AgentOptions, "maxSockets" | "maxFreeSockets">;

/** HTTP/1.1 over TLS. */
export function secureTransport(options: ConnectionOptions, limits: SocketLimits = {}): StreamTransport {
  const agent = new TlsAgent({ ...options, keepAlive: true, maxSockets: Number.POSITIVE_INFINITY, ...limits });
  const { host = "", port = 443 } = options;
  return http1Transport(agent, (head) => tlsRequest({ ...options, ...head, host, port, agent }));
}

type Http1Head = { method: string; path: string; headers: OutgoingHttpHeaders; signal: AbortSignal };

function http1Transport(agent: PlainAgent, open: (head: Http1Head) => ClientRequest): StreamTransport {
  return {
    send: ({ method, path, headers, body, signal }) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason);
        const length: OutgoingHttpHeaders =
          body instanceof Uint8Array ? { "content-length": String(body.byteLength) } : {};
        const request = open({ method, path, headers: { ...headers, ...length }, signal });
        let connected = false;
        request.once("socket", (socket) => {
          connected = !socket.connecting;
          // A kept connection is used for many requests, and would collect their listeners.
          if (!connected) socket.once("connect", () => (connected = true));
        });
        request.on("error", (error) => {
          reject(signal.aborted ? signal.reason : new WireError(connected ? "lost" : "connect", error));
        });
        let interim = 0;
        request.on("information", () => {
          if (++interim > maxInterim) request.destroy(new Error(tooManyInterim));
        });
        request.once("response", (response) => {
          resolve({ status: response.statusCode ?? 0, headers: flat(response.headers), body: response });
        });
        if (body instanceof Readable) sendAsItArrives(body, request);
        else request.end(body);
      }),
    close: () => agent.destroy(),
  };
}

/** Nothing is read before there is a connection, so that the same body can be sent over another one if there is none. */
function sendAsItArrives(body: Readable, request: ClientRequest): void {
  const start = (): void => {
    if (!request.destroyed) body.pipe(request);
  };
  const stop = (): void => {
    if (!body.readableEnded) request.destroy(new Error("the body ended early"));
  };
  if (body.destroyed) return stop();
  body.once("close", stop);
  request.once("close", () => body.off("close", stop));
  request.once("socket", (socket) => {
    if (socket.connecting) socket.once("connect", start);
    else start();
  });
}
