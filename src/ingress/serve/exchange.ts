import type { ClientRequest, IncomingMessage, RequestOptions } from "node:http";
import http2 from "node:http2";
import { type Readable, type Writable } from "node:stream";
import { type Clock } from "#lib/async/clock.ts";
import { http } from "#lib/net/node-http.ts";
import { ignore } from "#lib/net/sockets.ts";
import { limitInterim } from "#lib/net/upgrade.ts";
import { type Endpoint } from "./backends.ts";
import { type Header, headerObject, type RawHeaders } from "./headers.ts";

/** A request as a backend gets it. */
export interface BackendRequest {
  readonly method: string;
  readonly path: string;
  readonly host: string;
  readonly headers: readonly Header[];
  /** Undefined if there is no body; otherwise its length, or that it is not known. */
  readonly bodyLength: number | "unknown" | undefined;
  /** Whether a connection may be used that the endpoint is perhaps just closing. */
  readonly mayReuse: boolean;
}

/** An exchange with one endpoint, which is connected: the body can be written. */
export interface Exchange {
  readonly body: Writable;
  readonly answer: Promise<BackendAnswer>;
  destroy(): void;
}

export interface BackendAnswer {
  readonly status: number;
  readonly headers: RawHeaders;
  readonly body: Readable;
  trailers(): RawHeaders;
}

/** No byte of the request was sent: another endpoint can have it. */
export class ConnectError extends Error {
  override readonly name = "ConnectError";
}

const connectMs = 3_000;

/** Connects to the endpoint and sends the head of the request. Throws a ConnectError if that fails. */
export async function openExchange(
  endpoint: Endpoint,
  request: BackendRequest,
  { clock, isHttp2 }: { readonly clock: Clock; readonly isHttp2: boolean },
): Promise<Exchange> {
  return isHttp2 ? await openHttp2(endpoint, request, clock) : await openHttp1(endpoint, request, clock);
}

async function openHttp1(endpoint: Endpoint, request: BackendRequest, clock: Clock): Promise<Exchange> {
  const { method, path, host, bodyLength } = request;
  const headers = headerObject(request.headers);
  headers.host = host;
  if (bodyLength === "unknown") headers["transfer-encoding"] = "chunked";
  else if (bodyLength !== undefined) headers["content-length"] = String(bodyLength);
  const options: RequestOptions = {
    ...{ host: endpoint.address, port: endpoint.port, method, path, headers, setHost: false },
    agent: request.mayReuse ? endpoint.agent : false,
    maxHeaderSize: 64 << 10,
  };
  const outgoing = http.request(options);
  limitInterim(outgoing);
  outgoing.on("error", ignore);
  const answer = answerOf(outgoing);
  answer.catch(ignore);
  try {
    await connected(outgoing, clock);
  } catch (error) {
    outgoing.destroy();
    throw error;
  }
  return { body: outgoing, answer, destroy: () => void outgoing.destroy() };
}

function connected(outgoing: ClientRequest, clock: Clock): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (why: string) => {
      cancel();
      reject(new ConnectError(why));
    };
    const cancel = clock.after(connectMs, () => fail("no connection in time"));
    const done = () => {
      cancel();
      resolve();
    };
    outgoing.once("error", (error) => fail(error.message));
    outgoing.once("close", () => fail("the connection was closed"));
    outgoing.once("socket", (socket) => {
      if (socket.connecting) socket.once("connect", done);
      else done();
    });
  });
}

function answerOf(outgoing: ClientRequest): Promise<BackendAnswer> {
  return new Promise((resolve, reject) => {
    outgoing.once("response", (response: IncomingMessage) => {
      response.on("error", ignore);
      resolve({
        status: response.statusCode ?? 502,
        headers: response.rawHeaders,
        body: response,
        trailers: () => response.rawTrailers,
      });
    });
    outgoing.once("error", reject);
    outgoing.once("close", () => reject(new Error("the backend closed the connection without an answer")));
    // Nobody asked for another protocol.
    outgoing.once("upgrade", (_response, socket) => {
      socket.destroy();
      reject(new Error("the backend changed the protocol without being asked"));
    });
  });
}

async function openHttp2(endpoint: Endpoint, request: BackendRequest, clock: Clock): Promise<Exchange> {
  const session = endpoint.session();
  await sessionConnected(session, clock);
  const { method, path, host, headers, bodyLength } = request;
  const sent: http2.OutgoingHttpHeaders = { ":method": method, ":path": path, ":scheme": "http", ":authority": host };
  Object.assign(sent, headerObject(headers));
  if (typeof bodyLength === "number") sent["content-length"] = bodyLength;
  const stream = session.request(sent, { endStream: bodyLength === undefined, waitForTrailers: false });
  stream.on("error", ignore);
  let trailers: string[] = [];
  stream.once("trailers", (_trailers, _flags, raw) => {
    trailers = raw as string[];
  });
  const answer = new Promise<BackendAnswer>((resolve, reject) => {
    stream.once("response", (head, _flags, raw) => {
      const status = head[":status"] ?? 502;
      resolve({ status, headers: raw as string[], body: stream, trailers: () => trailers });
    });
    stream.once("error", reject);
    stream.once("close", () => reject(new Error("the backend closed the stream without an answer")));
  });
  answer.catch(ignore);
  return { body: stream, answer, destroy: () => stream.close(http2.constants.NGHTTP2_CANCEL) };
}

function sessionConnected(session: http2.ClientHttp2Session, clock: Clock): Promise<void> {
  if (!session.connecting) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const fail = (why: string) => {
      cancel();
      session.destroy();
      reject(new ConnectError(why));
    };
    const cancel = clock.after(connectMs, () => fail("no connection in time"));
    session.once("connect", () => {
      cancel();
      resolve();
    });
    session.once("error", (error) => fail(error.message));
    session.once("close", () => fail("the connection was closed"));
  });
}
