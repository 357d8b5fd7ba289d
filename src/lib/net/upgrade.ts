import type { Agent, ClientRequest, IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders } from "node:http";
import { type Duplex } from "node:stream";
import { http, https } from "./node-http.ts";
import { ignore } from "./sockets.ts";

export interface UpgradeRequest {
  readonly url: URL;
  readonly method: string;
  readonly headers: OutgoingHttpHeaders;
  /** Opens the connections; it holds the certificates where they are needed. */
  readonly agent?: Agent | undefined;
  /** Instead of an agent: a separate connection for this request, to a server that is not trusted. */
  connect?(): UntrustedConnection;
  readonly signal?: AbortSignal | undefined;
}

export interface UntrustedConnection {
  readonly socket: Duplex;
  /** Called once the head of the response has arrived. */
  readWhole(): void;
}

/** A request that is not sent yet. The server may send a few interim responses to it, but no endless series. */
export function openRequest({ url, method, headers, agent, connect, signal }: UpgradeRequest): ClientRequest {
  const { request } = url.protocol === "https:" ? https : http;
  const connection = connect?.();
  const how = connection ? { createConnection: () => connection.socket } : agent ? { agent } : {};
  const outgoing = request(url, { method, headers, ...how, ...(signal ? { signal } : {}) });
  if (connection) {
    outgoing.once("response", () => connection.readWhole());
    outgoing.once("upgrade", () => connection.readWhole());
  }
  limitInterim(outgoing);
  return outgoing;
}

export type UpgradeResult =
  | { readonly type: "upgraded"; readonly response: IncomingMessage; readonly socket: Duplex; readonly head: Buffer }
  | { readonly type: "refused"; readonly response: IncomingMessage };

/** Asks a server to upgrade the connection. */
export function dialUpgrade({ signal, ...request }: UpgradeRequest): Promise<UpgradeResult> {
  return new Promise((resolve, reject) => {
    const outgoing = openRequest(request);
    const abort = () => outgoing.destroy(new Error("the request was aborted"));
    const settle = (result: UpgradeResult) => {
      // From here on the connection is the caller's responsibility.
      signal?.removeEventListener("abort", abort);
      outgoing.on("error", ignore);
      resolve(result);
    };
    outgoing.once("upgrade", (response, socket, head) => {
      socket.on("error", ignore);
      settle({ type: "upgraded", response, socket, head });
    });
    outgoing.once("response", (response) => settle({ type: "refused", response }));
    outgoing.once("error", reject);
    if (signal?.aborted) return abort();
    signal?.addEventListener("abort", abort, { once: true });
    outgoing.end();
  });
}

/** As many as Go's client accepts. */
const maxInterim = 5;

/** Aborts a request whose server sends interim responses (100 to 199) without end. */
export function limitInterim(outgoing: ClientRequest): void {
  let count = 0;
  outgoing.on("information", () => {
    if (++count > maxInterim) outgoing.destroy(new Error("net/http: too many 1xx informational responses"));
  });
}

/** Whether a request asks for an upgrade of its connection. */
export const isUpgrade = (headers: Readonly<Record<string, string | undefined>>): boolean =>
  (headers.connection ?? "").toLowerCase().includes("upgrade") && headers.upgrade !== undefined;

/** Whether a request for an upgrade can be taken as one. Node does not read its body, so it must have none. */
export const mayUpgrade = ({ headers }: Pick<IncomingMessage, "headers">): boolean =>
  headers["transfer-encoding"] === undefined && Number(headers["content-length"] ?? 0) === 0;

/** Renders another server's response to an upgrade. */
export function renderUpgrade({ rawHeaders }: Pick<IncomingMessage, "rawHeaders">): string {
  let text = "HTTP/1.1 101 Switching Protocols\r\n";
  for (let i = 0; i < rawHeaders.length; i += 2) text += `${rawHeaders[i]}: ${rawHeaders[i + 1]}\r\n`;
  return `${text}\r\n`;
}

const passedOn = [
  "connection",
  "upgrade",
  "sec-websocket-key",
  "sec-websocket-version",
  "sec-websocket-protocol",
  "sec-websocket-extensions",
  "user-agent",
];

/** The upgrade headers that the next server needs. */
export function upgradeHeaders(headers: IncomingHttpHeaders | Readonly<Record<string, string | undefined>>) {
  const result: OutgoingHttpHeaders = {};
  for (const name of passedOn) {
    const value = headers[name];
    if (value !== undefined) result[name] = value;
  }
  const protocols = withoutTokens(headers["sec-websocket-protocol"]);
  if (protocols === undefined) delete result["sec-websocket-protocol"];
  else result["sec-websocket-protocol"] = protocols;
  // Older servers read each of these as one name, including the commas.
  const versions = String(headers["x-stream-protocol-version"] ?? "").split(",");
  const names = versions.map((version) => version.trim()).filter((version) => version !== "");
  if (names.length > 0) result["x-stream-protocol-version"] = names;
  return result;
}

/** Browsers can send a bearer token only as a subprotocol with this prefix. */
export const tokenProtocolPrefix = "base64url.bearer.authorization.k8s.io.";

/** The subprotocols that a client offers, without its token, which is for this server only. */
export function withoutTokens(protocols: string | undefined): string | undefined {
  if (!protocols?.includes(tokenProtocolPrefix)) return protocols;
  const names = protocols.split(",").map((name) => name.trim());
  return names.filter((name) => !name.startsWith(tokenProtocolPrefix)).join(", ") || undefined;
}
