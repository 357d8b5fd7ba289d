import type { Server } from "node:http";
import net from "node:net";
import type { Duplex } from "node:stream";
import { connectTo } from "#lib/net/local-server.ts";
import { http } from "#lib/net/node-http.ts";
import type { PortAnswer } from "./behaviour.ts";

/** Opens a connection to a port with this answer. */
export function connectAnswer({ status = 200, body = "", target }: PortAnswer): Duplex {
  if (target) return net.connect(target);
  return connectTo(httpServer(status, body));
}

/** Without the limits on time of a server that listens: connections end with their clients. */
function httpServer(status: number, body: string): Server {
  return http.createServer((request, response) => {
    request.resume();
    response.writeHead(status, { "content-type": "text/plain; charset=utf-8" }).end(body);
  });
}

/** What a program gets that connects to a port at which nothing listens. */
export const connectionRefused = (pod: string, port: number): Error =>
  Object.assign(new Error(`connect: connection refused: nothing listens on port ${port} of the simulated pod ${pod}`), {
    code: "ECONNREFUSED",
  });
