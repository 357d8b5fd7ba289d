import { createSocket, type Socket as DatagramSocket, type SocketOptions } from "node:dgram";
import { once } from "node:events";
import { createServer, isIPv6, type Server } from "node:net";
import { type Clock } from "#lib/async/clock.ts";
import { type Log } from "#lib/process/log.ts";
import { ClientLimits } from "./client-limits.ts";
import { DnsConnections } from "./connections.ts";
import { queryBytes } from "./message.ts";
import { type Resolver } from "./resolver.ts";

export interface DnsServerDeps {
  readonly resolver: Resolver;
  readonly clock: Clock;
  readonly log: Log;
  /** Whether a client with this address is served. Others get no answer. */
  isClient(address: string): boolean;
}
export interface ListenAddress {
  readonly address: string;
  /** 0 picks a port that is free for both UDP and TCP. */
  readonly port: number;
}
export interface DnsServer extends AsyncDisposable {
  readonly address: string;
  readonly port: number;
}

const portAttempts = 20;

/** Answers go to addresses, so there is nothing to look up. The usual function would cost each answer a turn of the loop. */
const asItIs: NonNullable<SocketOptions["lookup"]> = (address, _options, found) =>
  found(null, address, isIPv6(address) ? 6 : 4);

/** Listens for UDP and TCP on the same port. */
export async function openDnsServer(deps: DnsServerDeps, listen: ListenAddress): Promise<DnsServer> {
  for (let attempt = 1; ; attempt++) {
    const type = isIPv6(listen.address) ? "udp6" : "udp4";
    const udp = createSocket({ type, recvBufferSize: 1 << 20, lookup: asItIs });
    const listening = once(udp, "listening");
    udp.bind(listen.port, listen.address);
    await listening;
    const { port } = udp.address();
    const tcp = createServer();
    tcp.listen(port, listen.address);
    try {
      await once(tcp, "listening");
    } catch (error) {
      udp.close();
      if (listen.port === 0 && attempt < portAttempts) continue; // The port was free for UDP only.
      throw new Error(`DNS cannot listen on ${listen.address}:${port}`, { cause: error });
    }
    const limits = new ClientLimits(deps.clock);
    serveDatagrams(deps, limits, udp);
    const connections = serveConnections(deps, limits, tcp);
    return {
      address: listen.address,
      port,
      async [Symbol.asyncDispose]() {
        connections.closeAll();
        const closed = [once(udp, "close"), once(tcp, "close")];
        udp.close();
        tcp.close();
        await Promise.all(closed);
      },
    };
  }
}

/** A datagram without an answer costs its client a retry, and the server nothing. */
function serveDatagrams({ resolver, log, isClient }: DnsServerDeps, limits: ClientLimits, udp: DatagramSocket): void {
  let isOpen = true;
  udp.on("close", () => {
    isOpen = false;
  });
  udp.on("error", (error) => log.warn("the DNS server's UDP socket failed", { error }));
  udp.on("message", (message, { address, port }) => {
    if (message.length > queryBytes || !isClient(address)) return;
    const client = limits.admit(address);
    if (!client) return;
    const send = (answer: Buffer | undefined): void => {
      if (answer && isOpen) udp.send(answer, port, address); // Without a callback, nobody is told that a client is gone.
    };
    const answer = resolver(message, { transport: "udp", mayWait: limits.mayWait(client) });
    if (answer instanceof Promise) void limits.wait(client, answer).then(send);
    else send(answer);
  });
}

function serveConnections({ resolver, clock, log, isClient }: DnsServerDeps, limits: ClientLimits, tcp: Server) {
  const connections = new DnsConnections(clock, (message, address) => {
    const client = limits.admit(address);
    const answer = client && resolver(message, { transport: "tcp", mayWait: limits.mayWait(client) });
    return client && answer instanceof Promise ? limits.wait(client, answer) : answer;
  });
  tcp.on("error", (error) => log.warn("the DNS server's TCP socket failed", { error }));
  tcp.on("connection", (socket) => {
    const address = socket.remoteAddress ?? "";
    if (isClient(address)) connections.accept(socket, address);
    else socket.destroy();
  });
  return connections;
}
