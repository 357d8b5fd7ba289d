import { StatusError } from "#api/status.ts";
import { type Clock } from "#lib/async/clock.ts";
import { IdleTimer } from "#lib/net/sockets.ts";
import { type WebSocketConnection } from "#lib/net/websocket.ts";
import { type SpdySession, type SpdyStream, type StreamEnd } from "#lib/proto/spdy/session.ts";

/** The first byte of messages on a command's WebSocket. */
export const channel = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 } as const;

/** The features of a subprotocol for command streams. */
export interface ChannelProtocol {
  /** Messages are text: a digit, then base64. */
  readonly isBase64: boolean;
  /** The outcome is sent as a Status, not as text. */
  readonly hasStatus: boolean;
  /** A channel can be closed separately. */
  readonly hasClose: boolean;
}

export const channelProtocols: ReadonlyMap<string, ChannelProtocol> = new Map([
  ["v5.channel.k8s.io", { isBase64: false, hasStatus: true, hasClose: true }],
  ["v4.channel.k8s.io", { isBase64: false, hasStatus: true, hasClose: false }],
  ["v4.base64.channel.k8s.io", { isBase64: true, hasStatus: true, hasClose: false }],
  ["channel.k8s.io", { isBase64: false, hasStatus: false, hasClose: false }],
  ["base64.channel.k8s.io", { isBase64: true, hasStatus: false, hasClose: false }],
  ["", { isBase64: false, hasStatus: false, hasClose: false }],
]);

export interface WantedStreams {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

export interface Bridge {
  readonly client: WebSocketConnection;
  readonly node: SpdySession;
  readonly protocol: ChannelProtocol;
  readonly wanted: WantedStreams;
  readonly clock: Clock;
}

/** A stream that is idle for this long is cut. */
export const idleMs = 4 * 3600 * 1000;

/**
 * Connects a client's WebSocket with channels to a node's SPDY connection with streams, until the command has ended or
 * one side is gone. Neither side is read faster than the other accepts data.
 */
export async function bridgeChannels(bridge: Bridge): Promise<void> {
  const { client, node, protocol, clock } = bridge;
  const idle = new IdleTimer(clock, idleMs, () => {
    client.close();
    node.close();
  });
  const streams = openStreams(bridge, idle);
  try {
    await announce(bridge);
    const ended = Promise.all([node.run(), streams.over]).then(([, outcome]) => outcome);
    const outcome = await Promise.race([streams.over, ended, receive(bridge, streams, idle)]);
    if (outcome) await tell(client, protocol, outcome);
  } finally {
    idle.stop();
    node.close();
    client.close();
  }
}

/** How much a node may send about the outcome of a command. */
const maxErrorBytes = 64 << 10;

/** The outcome of a command, as the node reported it. */
interface Outcome {
  readonly status: Buffer;
}

interface Streams {
  readonly stdin: SpdyStream | undefined;
  readonly resize: SpdyStream | undefined;
  /** Resolves once all output has been passed on. */
  readonly over: Promise<Outcome>;
}

function openStreams({ client, node, protocol, wanted }: Bridge, idle: IdleTimer): Streams {
  const words: Buffer[] = [];
  let wordsSize = 0;
  const open = (streamtype: string, onData: (data: Buffer) => void | Promise<void>): SpdyStream =>
    node.open({ streamtype }, onData);
  const output = (streamtype: string, number: number): SpdyStream =>
    open(streamtype, (data) => {
      idle.touch();
      return sendOn(client, protocol, number, data);
    });
  // In this order, because servers may depend on it.
  const error = open("error", (data) => {
    if (wordsSize < maxErrorBytes) words.push(data.subarray(0, maxErrorBytes - wordsSize));
    wordsSize += data.length;
  });
  const stdin = wanted.stdin ? open("stdin", nothing) : undefined;
  const stdout = wanted.stdout ? output("stdout", channel.stdout) : undefined;
  const stderr = wanted.stderr && !wanted.tty ? output("stderr", channel.stderr) : undefined;
  const resize = wanted.tty ? open("resize", nothing) : undefined;
  const ends = [error, stdout, stderr].filter((stream) => stream !== undefined).map((stream) => stream.ended);
  return { stdin, resize, over: Promise.all(ends).then(([end]) => outcomeOf(end, words)) };
}

const nothing = (): void => {};

function outcomeOf(end: StreamEnd | undefined, words: readonly Buffer[]): Outcome {
  const status = Buffer.concat(words);
  if (status.length > 0) return { status };
  // No message means success, unless the connection was lost.
  const text = end === "lost" ? new StatusError("InternalError", "lost the connection to the node") : success;
  return { status: Buffer.from(JSON.stringify(text)) };
}
const success = { metadata: {}, status: "Success" };

/** An empty message, which tells the client that it is connected. */
function announce({ client, protocol, wanted }: Bridge): Promise<void> {
  const number = wanted.stdout ? channel.stdout : wanted.stderr ? channel.stderr : channel.error;
  return sendOn(client, protocol, number, Buffer.alloc(0));
}

function sendOn(
  client: WebSocketConnection,
  { isBase64 }: ChannelProtocol,
  number: number,
  data: Buffer,
): Promise<void> {
  if (isBase64) return client.send("text", Buffer.from(`${number}${data.toString("base64")}`));
  return client.send("binary", Buffer.of(number), data);
}

/** Passes on the client's messages until it has left. */
async function receive({ client, protocol }: Bridge, { stdin, resize }: Streams, idle: IdleTimer): Promise<undefined> {
  for await (const { data } of client.messages()) {
    idle.touch();
    if (data.length === 0) continue;
    const number = protocol.isBase64 ? (data[0] ?? 0) - zero : (data[0] ?? 0);
    if (protocol.hasClose && number === channel.close) {
      if (data[1] === channel.stdin) await stdin?.end().catch(nothing);
      continue;
    }
    const stream = number === channel.stdin ? stdin : number === channel.resize ? resize : undefined;
    const rest = data.subarray(1);
    const bytes = protocol.isBase64 ? Buffer.from(rest.toString("latin1"), "base64") : rest;
    // Input that a finished command no longer reads is not the client's error.
    await stream?.write(bytes).catch(nothing);
  }
}
const zero = 0x30;

/** Sends the outcome on its channel. */
async function tell(client: WebSocketConnection, protocol: ChannelProtocol, { status }: Outcome): Promise<void> {
  if (protocol.hasStatus) return await sendOn(client, protocol, channel.error, status);
  const { status: result, message = "" }: { status?: string; message?: string } = parseStatus(status);
  if (result === "Success") return;
  await sendOn(client, protocol, channel.error, Buffer.from(message));
}

function parseStatus(bytes: Buffer): { status?: string; message?: string } {
  try {
    const value: unknown = JSON.parse(bytes.toString());
    if (typeof value === "object" && value !== null) return value;
  } catch {
    // Not a Status, so the text is all there is.
  }
  return { message: bytes.toString() };
}
