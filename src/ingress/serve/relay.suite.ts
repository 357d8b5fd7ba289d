import net, { type AddressInfo, type Socket } from "node:net";
import tls, { type TLSSocket } from "node:tls";
import { type TlsRoute, type TlsScope } from "../routing/tls-table.ts";
import { ca, certify } from "./proxy.suite.ts";

export interface RawBackend extends AsyncDisposable {
  readonly port: number;
  /** How many connections it got. */
  count(): number;
}

/** A server for bytes: with TLS and a certificate of its own, or without. */
export async function serveBytes(take: (socket: Socket) => void, host?: string, at = "127.0.0.1"): Promise<RawBackend> {
  const open = new Set<Socket>();
  let count = 0;
  const accept = (socket: Socket) => {
    open.add(socket);
    count++;
    socket.on("error", () => undefined);
    take(socket);
  };
  const pair = host === undefined ? undefined : certify(host, "the backend");
  const server = pair
    ? tls.createServer({ cert: pair.certificate, key: pair.key, ALPNProtocols: ["own"], allowHalfOpen: true }, accept)
    : net.createServer({ allowHalfOpen: true }, accept);
  // A client that leaves during the handshake leaves a connection without TLS.
  server.on("connection", (socket) => open.add(socket));
  await new Promise<void>((resolve) => server.listen(0, at, resolve));
  return {
    port: (server.address() as AddressInfo).port,
    count: () => count,
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export const tlsRoute = (host: string, change: Partial<TlsRoute> = {}): TlsRoute => ({
  ...{ owner: "TLSRoute a/db", host, rank: "1", isTerminated: false, backends: [{ key: "db", weight: 1 }] },
  ...change,
});
export const scope = (host: string, ...routes: readonly TlsRoute[]): TlsScope => ({ host, routes });

export const connect = (
  port: number,
  servername: string,
  more: tls.ConnectionOptions & { readonly allowHalfOpen?: boolean } = {},
): TLSSocket => tls.connect({ port, host: "127.0.0.1", servername, ca, ...more });
