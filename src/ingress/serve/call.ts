import type { IncomingMessage, ServerResponse } from "node:http";
import { type Http2ServerRequest } from "node:http2";
import { type TLSSocket } from "node:tls";
import { readTarget, type Target } from "../routing/request-target.ts";
import { type RoutedRequest } from "../routing/route-table.ts";
import { type ClientFacts, countPasses, pairsOf } from "./headers.ts";

/** One request of a client. HTTP/2 requests have the same shape, by Node's compatibility layer. */
export interface Call {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly target: Target;
  readonly client: ClientFacts;
  /** Undefined if there is no body. */
  readonly bodyLength: number | "unknown" | undefined;
  readonly routed: RoutedRequest;
  /** What TLS was told before the request; undefined without TLS, "" if nothing. */
  readonly serverName: string | undefined;
}

export interface Refusal {
  readonly status: number;
  readonly message: string;
}

/** The same request more often than this has been sent in a circle. */
const maxPasses = 8;

/** Reads the head of a request, or says why it cannot be forwarded. */
export function readCall(request: IncomingMessage, response: ServerResponse, port: number): Call | Refusal {
  const { rawHeaders, method = "GET", url = "" } = request;
  if (method === "CONNECT" || method === "TRACE") return { status: 405, message: `${method} is not allowed` };
  const authority = authorityOf(request);
  if (authority === false) return { status: 400, message: "the request must name one host" };
  const target = url === "*" && method === "OPTIONS" ? undefined : readTarget({ url, authority });
  if (!target) return { status: 400, message: "the path or the host of the request is not valid" };
  if (countPasses(rawHeaders) >= maxPasses) return { status: 508, message: "the request goes in a circle" };
  const bodyLength = bodyLengthOf(request);
  if (bodyLength === false) return { status: 501, message: "the body has an encoding that is not supported" };
  const socket = socketOf(request);
  const isSecure = socket.encrypted === true;
  const client = {
    address: (request.socket.remoteAddress ?? "").replace(/^::ffff:/, ""),
    ...{ host: authority ?? "", port, isSecure, httpVersion: request.httpVersion },
  };
  const headers = request.headers;
  const header = (name: string): string | undefined => {
    const value = headers[name];
    return Array.isArray(value) ? value.join(",") : value;
  };
  const routed = { ...target, method, header };
  const serverName = isSecure ? socket.servername || "" : undefined;
  return { request, response, target, client, bodyLength, routed, serverName };
}

const socketOf = (request: IncomingMessage): Partial<TLSSocket> & { servername?: string | false | null } =>
  request.socket as TLSSocket;

/** False if a request has several, or none where it must have one. */
function authorityOf(request: IncomingMessage): string | undefined | false {
  const hosts = [...pairsOf(request.rawHeaders)].filter(([name]) => name === "host").map(([, value]) => value);
  if (request.httpVersionMajor >= 2) {
    const { authority } = request as unknown as Http2ServerRequest;
    if (authority && hosts.some((host) => host.toLowerCase() !== authority.toLowerCase())) return false;
    return authority || hosts[0] || false;
  }
  if (hosts.length > 1) return false;
  return hosts[0] ?? (request.httpVersion === "1.0" ? undefined : false);
}

/** False if the body cannot be passed on. */
function bodyLengthOf(request: IncomingMessage): Call["bodyLength"] | false {
  const { headers } = request;
  if (request.httpVersionMajor >= 2) {
    if ((request as unknown as Http2ServerRequest).stream.endAfterHeaders) return undefined;
  } else {
    const encoding = headers["transfer-encoding"];
    if (encoding !== undefined) return /^chunked$/i.test(encoding.trim()) ? "unknown" : false;
    if (headers["content-length"] === undefined) return undefined;
  }
  const length = headers["content-length"];
  return length !== undefined && /^\d{1,15}$/.test(length) ? Number(length) : length === undefined ? "unknown" : false;
}

/** Answers in place of a backend. */
export function refuse({ request, response }: Pick<Call, "request" | "response">, { status, message }: Refusal): void {
  if (response.headersSent || response.destroyed) return void response.destroy();
  const body = `${message}\n`;
  const headers: Record<string, string> = {
    "content-type": "text/plain; charset=utf-8",
    "content-length": String(Buffer.byteLength(body)),
    "cache-control": "no-store",
  };
  // Nobody reads the rest of its body.
  if (request.httpVersionMajor < 2 && !request.complete) headers.connection = "close";
  response.writeHead(status, headers);
  response.end(request.method === "HEAD" ? undefined : body);
}
