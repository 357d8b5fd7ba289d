import { createSocket, type Socket as DatagramSocket } from "node:dgram";
import { once } from "node:events";
import { createServer, isIPv6, type Server, type Socket } from "node:net";
import { type Clock } from "#lib/clock.ts";
import { type Log } from "#lib/log.ts";
import { type Resolver } from "./resolver.ts";
import { FrameReader, frame } from "./upstream.ts";

export interface DnsServerDeps {
  readonly resolver: Resolver;
  readonly clock: Clock;
  readonly log: Log;
}
export interface ListenAddress {
  readonly address: string;
  /** 0 is one that is free for both datagrams and connections. */
  readonly port: number;
}
export interface DnsServer extends AsyncDisposable {
  readonly address: string;
  readonly port: number;
}

const maxConnections = 500;
const idleMs = 10_000;
/** Answers that one connection may wait for. */
const maxPipelined = 100;
const portAttempts = 20;

/** Listens for datagrams and connections on the same port. */
export async function openDnsServer(deps: DnsServerDeps, listen: ListenAddress): Promise<DnsServer> {
  for (let attempt = 1; ; attempt++) {
    const udp = createSocket({ type: isIPv6(listen.address) ? "udp6" : "udp4", recvBufferSize: 1 << 20 });
    udp.bind(listen.port, listen.address);
    await once(udp, "listening");
    const { port } = udp.address();
    const tcp = createServer();
    tcp.listen(port, listen.address);
    try {
      await once(tcp, "listening");
    } catch (error) {
      udp.close();
      if (listen.port === 0 && attempt < portAttempts) continue; // The port was free for datagrams only.
      throw new Error(`DNS does not listen on ${listen.address}:${port}`, { cause: error });
    }
    serveDatagrams(deps, udp);
    const connections = serveConnections(deps, tcp);
    return {
      address: listen.address,
      port,
      async [Symbol.asyncDispose]() {
        for (const socket of connections) socket.destroy();
        const closed = [once(udp, "close"), once(tcp, "close")];
        udp.close();
        tcp.close();
        await Promise.all(closed);
      },
    };
  }
}

function serveDatagrams({ resolver, log }: DnsServerDeps, udp: DatagramSocket): void {
  let isOpen = true;
  udp.on("close", () => {
    isOpen = false;
  });
  udp.on("error", (error) => log.warn("DNS datagram failed", { error }));
  udp.on("message", async (message, from) => {
    try {
      const answer = await resolver(message, "udp");
      if (answer && isOpen) udp.send(answer, from.port, from.address, () => {}); // A client that left is no fault.
    } catch (error) {
      log.error("DNS question failed", { from: from.address, error });
    }
  });
}

function serveConnections(deps: DnsServerDeps, tcp: Server): Set<Socket> {
  const connections = new Set<Socket>();
  tcp.on("error", (error) => deps.log.warn("DNS connection failed", { error }));
  tcp.on("connection", (socket) => {
    if (connections.size >= maxConnections) {
      socket.destroy();
      return;
    }
    connections.add(socket);
    socket.on("close", () => connections.delete(socket));
    serveConnection(deps, socket);
  });
  return connections;
}

/** Answers in the order in which they are ready, as clients of one connection expect. */
function serveConnection({ resolver, clock, log }: DnsServerDeps, socket: Socket): void {
  const frames = new FrameReader();
  let underway = 0;
  let cancel = clock.after(idleMs, () => socket.destroy());
  const stayAlive = (): void => {
    cancel();
    cancel = clock.after(idleMs, () => socket.destroy());
  };
  const answer = async (message: Buffer): Promise<void> => {
    try {
      const bytes = await resolver(message, "tcp");
      if (bytes && socket.writable) socket.write(frame(bytes));
      else if (!bytes) socket.destroy();
    } catch (error) {
      log.error("DNS question failed", { from: socket.remoteAddress, error });
      socket.destroy();
    } finally {
      underway--;
    }
  };
  socket.on("error", () => socket.destroy());
  socket.on("close", () => cancel());
  socket.on("data", (chunk: Buffer) => {
    stayAlive();
    for (const message of frames.push(chunk)) {
      if (++underway > maxPipelined) socket.destroy();
      else void answer(message);
    }
  });
}
