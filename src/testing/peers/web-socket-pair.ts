import { once } from "node:events";
import http from "node:http";
import { type Duplex, duplexPair } from "node:stream";
import { WebSocket } from "ws";
import { acceptWebSocket, readWebSocketRequest, WebSocketConnection } from "#lib/net/websocket.ts";

/** The client's and the server's end of a WebSocket, connected by pipes with small buffers. */
export interface WebSocketPair {
  readonly client: WebSocketConnection;
  readonly server: WebSocketConnection;
  readonly clientSide: Duplex;
  readonly serverSide: Duplex;
}

export async function webSocketPair(): Promise<WebSocketPair> {
  const [clientSide, serverSide] = duplexPair();
  const accepted = acceptOn(serverSide);
  const ws = new WebSocket("ws://pair", { createConnection: () => clientSide, perMessageDeflate: false });
  const client = new WebSocketConnection(ws);
  await once(ws, "open");
  return { client, server: await accepted, clientSide, serverSide };
}

/** Reads a request from the connection, and accepts the WebSocket that it asks for. */
export function acceptOn(connection: Duplex): Promise<WebSocketConnection> {
  const server = http.createServer();
  const accepted = new Promise<WebSocketConnection>((resolve, reject) => {
    server.once("upgrade", (message, socket, head) => {
      const headers = Object.fromEntries(Object.entries(message.headers).map(([name, value]) => [name, String(value)]));
      const request = readWebSocketRequest(headers);
      if (!request) return reject(new Error("the request does not ask for a WebSocket"));
      acceptWebSocket(request, request.protocols[0] ?? "", { socket, head }).then(resolve, reject);
    });
  });
  server.emit("connection", connection);
  return accepted;
}
