import { type AgentOptions, type OutgoingHttpHeaders, Agent as PlainAgent, request as plainRequest } from "node:http";
import { Agent as TlsAgent, request as tlsRequest } from "node:https";
import { type ConnectionOptions } from "node:tls";
import { flat, maxInterim, type Transport, tooManyInterim, WireError } from "./wire.ts";

/** HTTP/1.1 without TLS. */
export function plainTransport(url: URL): Transport {
  const agent = new PlainAgent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
  const { hostname: host, port } = url;
  return http1Transport(agent, (head) => plainRequest({ ...head, host, port: port || 80, agent }));
}

/** How many connections there may be at the same time, and how many of them are kept while they are idle. */
export type SocketLimits = Pick<AgentOptions, "maxSockets" | "maxFreeSockets">;

/** HTTP/1.1 over TLS. */
export function secureTransport(options: ConnectionOptions, limits: SocketLimits = {}): Transport {
  const agent = new TlsAgent({ ...options, keepAlive: true, maxSockets: Number.POSITIVE_INFINITY, ...limits });
  const { host = "", port = 443 } = options;
  return http1Transport(agent, (head) => tlsRequest({ ...options, ...head, host, port, agent }));
}

type Http1Head = { method: string; path: string; headers: OutgoingHttpHeaders; signal: AbortSignal };

function http1Transport(agent: PlainAgent, open: (head: Http1Head) => ReturnType<typeof plainRequest>): Transport {
  return {
    send: ({ method, path, headers, body, signal }) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason);
        const length = body ? { "content-length": String(body.byteLength) } : {};
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
        request.end(body);
      }),
    close: () => agent.destroy(),
  };
}
