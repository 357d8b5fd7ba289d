import type { Server } from "node:https";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { connectionKey, ignore } from "#lib/net/sockets.ts";
import { type Stranger, Strangers } from "#lib/net/strangers.ts";

/** Limits for connections that have not shown a certificate of the cluster. */
const strangerLimits = { all: 1024, perAddress: 256 };

export const serverTimeouts = {
  /** Until the TLS handshake is done. */
  handshakeTimeout: 10_000,
  /** Until the headers of a request have arrived. */
  headersTimeout: 10_000,
  /** Until a whole request has arrived. This server reads no request bodies. */
  requestTimeout: 30_000,
};

/**
 * Bounds the connections of unknown peers, because every pod can reach this server. The API server shows its certificate
 * in the handshake and may open as many connections as it needs. Disposing ends all connections, even before their
 * handshake.
 */
export function limitConnections(server: Server): Disposable {
  const connections = new NodeConnections();
  server.on("connection", (socket) => connections.accept(socket));
  server.on("secureConnection", (socket) => connections.secured(socket));
  return connections;
}

interface Connection extends Stranger {
  readonly socket: Socket;
  isSecured: boolean;
}

class NodeConnections implements Disposable {
  readonly #open = new Map<string, Connection>();
  readonly #strangers = new Strangers<Connection>(strangerLimits);

  accept(socket: Socket): void {
    const connection: Connection = {
      socket,
      address: socket.remoteAddress ?? "",
      get hasSpoken() {
        return socket.bytesRead > 0;
      },
      isSecured: false,
    };
    const key = connectionKey(socket);
    const leaving = this.#strangers.surplus(connection.address);
    if (leaving) {
      this.#strangers.delete(leaving);
      leaving.socket.destroy();
    }
    this.#strangers.add(connection);
    this.#open.set(key, connection);
    socket.on("error", ignore);
    socket.once("close", () => {
      this.#strangers.delete(connection);
      if (this.#open.get(key) === connection) this.#open.delete(key);
    });
  }

  secured(socket: TLSSocket): void {
    const connection = this.#open.get(connectionKey(socket));
    if (!connection) return;
    connection.isSecured = true;
    if (socket.authorized) this.#strangers.delete(connection);
  }

  [Symbol.dispose](): void {
    for (const { socket } of this.#open.values()) socket.destroy();
  }
}
