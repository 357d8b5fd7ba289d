import type { Agent, IncomingMessage, RequestListener, Server } from "node:http";
import { type Duplex, duplexPair } from "node:stream";
import { realSetImmediate } from "#lib/async/real-timers.ts";
import { http } from "./node-http.ts";
import { ignore } from "./sockets.ts";
import { mayUpgrade } from "./upgrade.ts";

/** An HTTP server in this process that only holders of its agent reach. It listens nowhere. */
export interface LocalServer {
  /** Connects requests to it, whatever host they name. */
  readonly agent: Agent;
}

export interface LocalHandlers {
  readonly onRequest: RequestListener;
  onUpgrade?(message: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Throws if the server does not accept connections at the moment. */
  mayConnect?(): void;
}

export function createLocalServer({ onRequest, onUpgrade, mayConnect = ignore }: LocalHandlers): LocalServer {
  const server = http.createServer({ shouldUpgradeCallback: mayUpgrade }, onRequest);
  // Node is still within its own reader here, and whoever reads the stream now would miss what comes next.
  if (onUpgrade) server.on("upgrade", (...upgrading) => realSetImmediate(() => onUpgrade(...upgrading)));
  const agent = new http.Agent({ keepAlive: false });
  agent.createConnection = () => {
    mayConnect();
    return connectTo(server);
  };
  return { agent };
}

/** The client's end of a connection to the server. */
export function connectTo(server: Server): Duplex {
  const [near, far] = duplexPair();
  for (const [one, other] of [
    [near, far],
    [far, near],
  ] as const) {
    one.on("error", ignore);
    // As on a network, a side that is cut takes the other with it.
    one.once("close", () => other.destroy());
  }
  server.emit("connection", far);
  return near;
}
