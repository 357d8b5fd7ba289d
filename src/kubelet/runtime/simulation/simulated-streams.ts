import type { Agent } from "node:http";
import { StatusError } from "#api/status.ts";
import { createLocalServer, type LocalServer } from "#lib/net/local-server.ts";
import { ignore } from "#lib/net/sockets.ts";
import { messageOf } from "#lib/text/message-of.ts";
import type { Upgrading } from "./command-stream.ts";

type Serve = (connection: Upgrading) => Promise<void>;

/** Addresses that nobody has used; the oldest goes first. */
const maxOpen = 1000;

/** The server for streams of simulated containers. It listens nowhere: only `agent` reaches it. */
export class SimulatedStreams {
  readonly #open = new Map<string, Serve>();
  #local: LocalServer | undefined;
  #count = 0;

  get agent(): Agent {
    this.#local ??= this.#start();
    return this.#local.agent;
  }

  /** The URL at which a connection is served, once. */
  add(serve: Serve): string {
    const path = `/${++this.#count}`;
    this.#open.set(path, serve);
    const [oldest] = this.#open.keys();
    if (this.#open.size > maxOpen && oldest) this.#open.delete(oldest);
    return `http://simulated${path}`;
  }

  #start(): LocalServer {
    return createLocalServer({
      onRequest: (_, response) => void response.writeHead(400).end("Upgrade request required"),
      onUpgrade: (message, socket, head) => void this.#serve({ message, socket, head }),
    });
  }

  async #serve(connection: Upgrading): Promise<void> {
    const { message, socket } = connection;
    socket.on("error", ignore);
    const path = message.url ?? "";
    const serve = this.#open.get(path);
    this.#open.delete(path);
    try {
      if (!serve) throw new StatusError("NotFound", "there is no such stream");
      await serve(connection);
    } catch (error) {
      if (socket.writable) socket.end(refusal(error instanceof StatusError ? error.code : 500, messageOf(error)));
    }
  }
}

const refusal = (status: number, text: string): string =>
  `HTTP/1.1 ${status} Refused\r\nConnection: close\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
