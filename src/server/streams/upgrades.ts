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

/** The WebSocket that is asked for, if it is one. */
export function webSocketOf({ request }: Context): WebSocketRequest | undefined {
  try {
    return readWebSocketRequest(request.headers);
  } catch (error) {
    if (error instanceof WebSocketError) throw badRequest(error.message);
    throw error;
  }
}

/** The first of the client's subprotocols that is known here; "" is the client that names none. */
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

/** The client gets the other server's answer and from then on its bytes, and the other way round. */
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

/** No upgrade: the client gets the answer as it is. */
export function refusedUpgrade(response: IncomingMessage): Answer {
  const status = response.statusCode ?? 500;
  if (status < 400) {
    response.destroy();
    throw new StatusError("InternalError", `invalid upgrade response: status code ${status}`);
  }
  const contentType = response.headers["content-type"] ?? "text/plain; charset=utf-8";
  return { type: "stream", status, contentType, body: response };
}
