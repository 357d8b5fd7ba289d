import type { IncomingMessage } from "node:http";
import { type Answer } from "#api/exchange.ts";
import { badRequest, StatusError } from "#api/status.ts";
import { type Clock } from "#lib/async/clock.ts";
import { splice } from "#lib/net/sockets.ts";
import { isUpgrade, renderUpgrade, type UpgradeResult } from "#lib/net/upgrade.ts";
import { readWebSocketRequest, WebSocketError, type WebSocketRequest } from "#lib/net/websocket.ts";
import { type Context } from "#server/request/pipeline.ts";
import { idleMs } from "./channels.ts";

type Upgraded = Extract<UpgradeResult, { type: "upgraded" }>;

export function requireUpgrade({ request }: Context): void {
  if (!isUpgrade(request.headers)) throw badRequest("Upgrade request required");
}

/** The requested WebSocket, if it is one. */
export function webSocketOf({ request }: Context): WebSocketRequest | undefined {
  try {
    return readWebSocketRequest(request.headers);
  } catch (error) {
    if (error instanceof WebSocketError) throw badRequest(error.message);
    throw error;
  }
}

/** The first of the client's subprotocols that we know; "" for a client that names none. */
export function negotiateProtocol(offered: readonly string[], known: Iterable<string>): string {
  const names = [...known];
  const chosen = (offered.length > 0 ? offered : [""]).find((name) => names.includes(name));
  if (chosen !== undefined) return chosen;
  const [asked, supported] = [offered.join(" "), names.join(" ")];
  throw new StatusError(
    "Forbidden",
    `unable to upgrade: requested protocol(s) are not supported: [${asked}]; supports [${supported}]`,
  );
}

/** Sends the other server's response to the client, and then copies bytes both ways. */
export function passThrough({ response, socket: backend, head: behind }: Upgraded, clock: Clock): Answer {
  return {
    type: "upgrade",
    accept({ socket, head }) {
      socket.write(renderUpgrade(response));
      if (head.length > 0) socket.unshift(head);
      if (behind.length > 0) backend.unshift(behind);
      void splice(socket, backend, { clock, idleMs });
    },
  };
}

/** There was no upgrade: the client gets the response unchanged. */
export function refusedUpgrade(response: IncomingMessage): Answer {
  const status = response.statusCode ?? 500;
  if (status < 400) {
    response.destroy();
    throw new StatusError("InternalError", `invalid upgrade response: status code ${status}`);
  }
  const contentType = response.headers["content-type"] ?? "text/plain; charset=utf-8";
  return { type: "stream", status, contentType, body: response };
}
