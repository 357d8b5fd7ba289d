/** The clients of the fairness bench, in a process of their own: each lists, reads the whole answer, and lists again. */
import { once } from "node:events";
import http2 from "node:http2";
import net from "node:net";
import tls from "node:tls";

export interface FloodOptions {
  readonly url: string;
  readonly ca: string;
  readonly path: string;
  /** One client for each token. */
  readonly tokens: readonly string[];
  /** Clients without a token. */
  readonly strangers: number;
  /** How many of them share a connection. */
  readonly perConnection: number;
  /** Clients that begin a TLS handshake, hang up, and begin the next. */
  readonly knockers: number;
}

export interface FloodState {
  readonly isConnected: boolean;
  /** What the clients got, by status; 0: no answer. */
  readonly counts: Readonly<Record<string, number>>;
}

const counts: Record<string, number> = {};
let isConnected = false;

async function hammer(session: http2.ClientHttp2Session, path: string, token: string | undefined): Promise<void> {
  const headers = { ":path": path, ...(token ? { authorization: `Bearer ${token}` } : {}) };
  while (!session.closed && !session.destroyed) {
    const name = `${token ? "" : "anonymous "}${await ask(session, headers)}`;
    counts[name] = (counts[name] ?? 0) + 1;
  }
}

/** A refused client comes back at once: that is the worst case. */
function ask(session: http2.ClientHttp2Session, headers: http2.OutgoingHttpHeaders): Promise<number> {
  return new Promise((resolve) => {
    const stream = session.request(headers);
    let status = 0;
    stream.on("response", (answer) => (status = answer[":status"] ?? 0));
    stream.on("error", () => {});
    stream.on("close", () => resolve(status));
    stream.resume();
  });
}

/** Begins handshakes and does not finish them, which is cheap here: the server still has to sign its answer. */
async function knock({ hostname: host, port }: URL, hello: Uint8Array): Promise<void> {
  for (;;) {
    const socket = net.connect({ host, port: Number(port) });
    socket.write(hello);
    const name = await new Promise<string>((resolve) => {
      socket.once("data", () => resolve("half handshakes"));
      socket.once("error", () => resolve("refused handshakes"));
      socket.once("close", () => resolve("refused handshakes"));
    });
    socket.destroy();
    counts[name] = (counts[name] ?? 0) + 1;
  }
}

/** What a client says first: recorded once, and sent many times. */
async function firstWords(): Promise<Uint8Array> {
  const server = net.createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = tls.connect({ host: "127.0.0.1", port: (server.address() as net.AddressInfo).port });
  client.on("error", () => {});
  const [socket] = (await once(server, "connection")) as [net.Socket];
  const [hello] = (await once(socket, "data")) as [Uint8Array];
  socket.on("error", () => {});
  client.destroy();
  server.close();
  return hello;
}

/** One after the other, so that no handshake takes too long. */
async function flood({ url, ca, path, tokens, strangers, perConnection, knockers }: FloodOptions): Promise<void> {
  const clients = [...tokens, ...new Array<undefined>(strangers)];
  for (let at = 0; at < clients.length; at += perConnection) {
    const session = http2.connect(url, { ca, settings: { initialWindowSize: 1 << 20 } });
    session.on("error", () => {});
    session.setMaxListeners(0);
    await once(session, "connect");
    for (const token of clients.slice(at, at + perConnection)) void hammer(session, path, token);
  }
  const hello = await firstWords();
  for (let n = 0; n < knockers; n++) void knock(new URL(url), hello);
  isConnected = true;
}

/** Follows the orders of the process that forked this one, and reports to it until it ends. */
export function serveFlood(): void {
  process.once("message", (options: FloodOptions) => void flood(options));
  process.on("disconnect", () => process.exit(0));
  setInterval(() => process.connected && process.send?.({ isConnected, counts } satisfies FloodState, () => {}), 250);
}
