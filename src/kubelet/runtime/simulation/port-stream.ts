import type { Duplex } from "node:stream";
import { badRequest } from "#api/status.ts";
import type { Clock } from "#lib/async/clock.ts";
import { chunksOf, ignore, writeAll } from "#lib/net/sockets.ts";
import { acceptWebSocket, readWebSocketRequest } from "#lib/net/websocket.ts";
import type { SpdyHeaders } from "#lib/proto/spdy/headers.ts";
import { SpdySession, type SpdyStream } from "#lib/proto/spdy/session.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { acceptance, type Upgrading } from "./command-stream.ts";

/** Connects to a port of a pod. Throws if nothing listens there. */
export type ConnectPort = (port: number) => Duplex | Promise<Duplex>;

export interface PortsRequest {
  /** The ports of a WebSocket; in SPDY, streams name theirs. */
  readonly ports: readonly number[];
  readonly clock: Clock;
}

/** Serves forwarded ports over SPDY, or over a WebSocket with two channels for each port. */
export async function servePorts(connection: Upgrading, request: PortsRequest, connect: ConnectPort): Promise<void> {
  const { headers } = connection.message;
  if (headers.upgrade?.toLowerCase() === "websocket") return await overWebSocket(connection, request, connect);
  if (!String(headers["x-stream-protocol-version"] ?? "").includes(protocol)) {
    throw badRequest(`only the protocol ${protocol} is served here`);
  }
  await overSpdy(connection, request, connect);
}

const protocol = "portforward.k8s.io";

/** Each connection has a stream for its data and one for an error, with the same number. */
async function overSpdy({ socket, head }: Upgrading, { clock }: PortsRequest, connect: ConnectPort): Promise<void> {
  socket.write(acceptance(protocol));
  const errors = new Map<string, SpdyStream>();
  const session = new SpdySession(socket, {
    clock,
    head,
    accept(headers, stream) {
      const { streamtype: type = "", requestid: id = "" } = headers;
      if (type === "error") {
        errors.set(id, stream);
        void stream.ended.then(() => errors.delete(id));
        return ignore;
      }
      const port = portOf(headers);
      if (type !== "data" || port === undefined) return undefined;
      const opened = (async () => await connect(port))();
      void serveData(stream, opened, async (text) => await errors.get(id)?.write(Buffer.from(text)))
        .catch(ignore)
        .then(() => errors.get(id)?.end())
        .catch(ignore);
      void stream.ended.then(async () => (await opened).end()).catch(ignore);
      return async (data) => await writeAll(await opened, data).catch(ignore);
    },
  });
  await session.run();
}

function portOf({ port = "" }: SpdyHeaders): number | undefined {
  const number = Number(port);
  return /^\d{1,5}$/.test(port) && number >= 1 && number <= 65_535 ? number : undefined;
}

async function serveData(
  stream: SpdyStream,
  opened: Promise<Duplex>,
  refuse: (text: string) => Promise<void>,
): Promise<void> {
  try {
    const pod = await opened;
    void stream.ended.then((end) => end !== "finished" && pod.destroy());
    for await (const chunk of chunksOf(pod)) await stream.write(chunk);
  } catch (error) {
    await refuse(messageOf(error));
  } finally {
    await stream.end();
  }
}

const channelProtocols = ["v4.channel.k8s.io", "v4.base64.channel.k8s.io"];

async function overWebSocket(connection: Upgrading, { ports }: PortsRequest, connect: ConnectPort): Promise<void> {
  const { message, socket, head } = connection;
  const headers = Object.fromEntries(Object.entries(message.headers).map(([name, value]) => [name, String(value)]));
  const request = readWebSocketRequest(headers);
  if (!request) throw badRequest("a WebSocket is required");
  const chosen = request.protocols.find((name) => channelProtocols.includes(name));
  if (chosen === undefined) throw badRequest(`one of the protocols ${channelProtocols.join(", ")} is required`);
  const isBase64 = chosen === channelProtocols[1];
  const client = await acceptWebSocket(request, chosen, { socket, head });
  const send = async (channel: number, data: Uint8Array): Promise<void> => {
    if (isBase64) await client.send("text", Buffer.from(`${channel}${Buffer.from(data).toString("base64")}`));
    else await client.send("binary", Buffer.of(channel), data);
  };
  const pods = ports.map(async (port, index) => {
    const number = Buffer.of(port & 255, port >> 8);
    // Both channels of a port begin with its number.
    await send(index * 2, number);
    await send(index * 2 + 1, number);
    return await connect(port);
  });
  const down = pods.map(async (opened, index) => {
    try {
      for await (const chunk of chunksOf(await opened)) await send(index * 2, chunk);
    } catch (error) {
      await send(index * 2 + 1, Buffer.from(messageOf(error))).catch(ignore);
    }
  });
  void Promise.all(down).then(() => client.close());
  try {
    for await (const { data } of client.messages()) {
      const channel = isBase64 ? Number(data.toString("latin1", 0, 1)) : (data[0] ?? 0);
      const bytes = isBase64 ? Buffer.from(data.toString("latin1", 1), "base64") : data.subarray(1);
      const pod = channel % 2 === 0 ? await pods[channel / 2]?.catch(() => undefined) : undefined;
      if (pod && bytes.length > 0) await writeAll(pod, bytes).catch(ignore);
    }
  } finally {
    for (const opened of pods) opened.then((pod) => pod.destroy()).catch(ignore);
  }
}
