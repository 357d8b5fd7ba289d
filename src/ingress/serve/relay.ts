import net, { type Socket } from "node:net";
import { type Duplex } from "node:stream";
import { type Clock } from "#lib/async/clock.ts";
import { IdleTimer, ignore } from "#lib/net/sockets.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { type TlsRoute } from "../routing/tls-table.ts";
import { type Backend, type Endpoint } from "./backends.ts";
import { chooseBackend, type ForwardDeps } from "./forward.ts";

/** A connection whose client asked for the name of a route. */
export interface RelayedConnection {
  /** What the client sends and reads: its own bytes, or what was in them if TLS ends here. */
  readonly socket: Duplex;
  /** What carries it. */
  readonly raw: Socket;
  readonly route: TlsRoute;
}

const dialMs = 3_000;
const maxAttempts = 3;
/** How long nothing may come from either side, and how long after one of them has ended. */
const idleMs = 3_600_000;
const halfIdleMs = 600_000;
/** After this time without a byte, the kernel asks whether the peer is still there. */
const probeMs = 60_000;

/** Joins connections of clients to endpoints, and copies bytes both ways. */
export class Relay {
  readonly #deps: ForwardDeps;
  /** Our ends of the connections to endpoints. One that comes back to us goes in a circle. */
  readonly #own = new Set<string>();

  constructor(deps: ForwardDeps) {
    this.#deps = deps;
  }

  /** Resolves when the connection is closed, with the fault if no endpoint got it. */
  async run(connection: RelayedConnection): Promise<string | undefined> {
    const { socket, raw, route } = connection;
    socket.on("error", ignore);
    const fault = this.#own.has(endKey(raw.remoteAddress, raw.remotePort))
      ? "the connection goes in a circle"
      : await this.#connect(connection, chooseBackend(route.backends, this.#deps.random));
    if (fault !== undefined) socket.destroy();
    return fault;
  }

  async #connect(connection: RelayedConnection, chosen: ReturnType<typeof chooseBackend>): Promise<string | undefined> {
    const backend = chosen?.key === undefined ? undefined : this.#deps.backends.get(chosen.key);
    if (!chosen || !backend) return chosen?.fault ?? "the route has no backend";
    const tried = new Set<Endpoint>();
    let fault = backend.fault ?? "the backend has no endpoints";
    for (let attempt = 1; attempt <= maxAttempts && !connection.socket.destroyed; attempt++) {
      const endpoint = backend.choose(tried);
      if (!endpoint) break;
      tried.add(endpoint);
      const result = await this.#tryEndpoint(connection, backend, endpoint);
      if (result === undefined) return undefined;
      fault = result;
    }
    return connection.socket.destroyed ? undefined : fault;
  }

  async #tryEndpoint(
    { socket, raw }: RelayedConnection,
    backend: Backend,
    endpoint: Endpoint,
  ): Promise<string | undefined> {
    const { clock } = this.#deps;
    endpoint.active++;
    let end = "";
    try {
      const other = await dial(endpoint, socket, clock);
      end = endKey(other.localAddress, other.localPort);
      this.#own.add(end);
      raw.setKeepAlive(true, probeMs);
      await join(socket, other, clock);
      return undefined;
    } catch (error) {
      if (socket.destroyed) return undefined;
      backend.failed(endpoint);
      return `the backend cannot be reached: ${messageOf(error)}`;
    } finally {
      endpoint.active--;
      this.#own.delete(end);
    }
  }
}

const endKey = (address: string | undefined, port: number | undefined): string =>
  `${(address ?? "").replace(/^::ffff:/, "")} ${port}`;

/** Connects to an endpoint, unless the client leaves before. */
async function dial({ address, port }: Endpoint, client: Duplex, clock: Clock): Promise<Socket> {
  const socket = net.connect({
    ...{ host: address, port, allowHalfOpen: true, noDelay: true },
    ...{ keepAlive: true, keepAliveInitialDelay: probeMs },
  });
  const connected = Promise.withResolvers<void>();
  const left = () => socket.destroy(new Error("the client left"));
  const cancel = clock.after(dialMs, () => socket.destroy(new Error("no connection in time")));
  client.once("close", left);
  socket.once("connect", connected.resolve);
  socket.on("error", connected.reject);
  try {
    if (client.destroyed) left();
    await connected.promise;
    return socket;
  } finally {
    cancel();
    client.off("close", left);
  }
}

/** Copies bytes both ways at the pace of the slower side. When one side ends, the other may go on. */
async function join(client: Duplex, backend: Socket, clock: Clock): Promise<void> {
  const cut = () => {
    client.destroy();
    // Half an answer must not look like a whole one.
    backend.resetAndDestroy();
  };
  let idle = new IdleTimer(clock, idleMs, cut);
  const watch = (from: Duplex, to: Duplex) => {
    from.on("error", ignore);
    from.on("data", () => idle.touch());
    from.once("end", () => {
      idle.stop();
      idle = new IdleTimer(clock, halfIdleMs, cut);
    });
    from.once("close", () => {
      if (!from.readableEnded || !from.writableFinished) cut();
    });
    from.pipe(to);
  };
  watch(client, backend);
  watch(backend, client);
  if (client.destroyed) cut();
  await Promise.all([closed(client), closed(backend)]);
  idle.stop();
}

const closed = (stream: Duplex): Promise<void> =>
  new Promise((resolve) => {
    if (stream.closed) resolve();
    else stream.once("close", () => resolve());
  });
