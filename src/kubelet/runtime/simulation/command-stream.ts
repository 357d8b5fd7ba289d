import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { badRequest } from "#api/status.ts";
import type { StreamRequest } from "#kubelet/runtime/runtime.ts";
import type { Clock } from "#lib/async/clock.ts";
import { SpdySession, type SpdyStream } from "#lib/proto/spdy/session.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { InputPipe } from "./input-pipe.ts";

/** A connection whose client has asked for an upgrade. */
export interface Upgrading {
  readonly message: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

/** The streams of a command while it runs. */
export interface CommandStreams {
  readonly stdin: AsyncIterable<Uint8Array>;
  /** Fires when the client has gone. */
  readonly signal: AbortSignal;
  /** Waits for a slow client. What the client did not ask for is dropped. */
  write(stream: "stdout" | "stderr", data: Uint8Array): Promise<void>;
}

/** Resolves with the exit code. */
export type RunCommand = (streams: CommandStreams) => Promise<number>;

const protocols = ["v4.channel.k8s.io", "v3.channel.k8s.io", "v2.channel.k8s.io", ""] as const;

/** Serves a command over SPDY: one stream each for errors, input and outputs, which the client opens. */
export async function serveCommand(
  connection: Upgrading,
  { wanted, clock }: { readonly wanted: StreamRequest; readonly clock: Clock },
  run: RunCommand,
): Promise<void> {
  const { message, socket, head } = connection;
  const protocol = chooseProtocol(message);
  socket.write(acceptance(protocol));
  const gone = new AbortController();
  const input = new InputPipe(gone.signal);
  const streams = new Map<string, SpdyStream>();
  const ready = Promise.withResolvers<void>();
  const needed = neededStreams(wanted, protocol);
  const session = new SpdySession(socket, {
    clock,
    head,
    accept(headers, stream) {
      const type = headers.streamtype ?? "";
      if (!needed.includes(type) || streams.has(type)) return undefined;
      streams.set(type, stream);
      if (type === "stdin") void stream.ended.then(() => input.end());
      if (streams.size === needed.length) ready.resolve();
      return type === "stdin" ? (data) => input.push(data) : () => {};
    },
  });
  const closed = session.run().finally(() => {
    gone.abort(new Error("the client has gone"));
    input.end();
  });
  const work = async () => {
    await ready.promise;
    const io: CommandStreams = {
      stdin: input,
      signal: gone.signal,
      write: async (name, data) => await streams.get(wanted.tty ? "stdout" : name)?.write(data),
    };
    const outcome = await run(io).then(exitStatus, failureStatus);
    await streams.get("error")?.write(Buffer.from(renderOutcome(outcome, protocol)));
    for (const name of ["stdout", "stderr", "error"]) await streams.get(name)?.end();
    session.close();
  };
  await Promise.race([work(), closed]);
}

function neededStreams({ stdin, stdout, stderr, tty }: StreamRequest, protocol: string): readonly string[] {
  const canResize = protocol.startsWith("v4") || protocol.startsWith("v3");
  const needed = { error: true, stdin, stdout, stderr: stderr && !tty, resize: tty && canResize };
  return Object.entries(needed).flatMap(([name, isNeeded]) => (isNeeded ? [name] : []));
}

function chooseProtocol({ headers }: IncomingMessage): string {
  if (headers.upgrade?.toLowerCase() !== "spdy/3.1") throw badRequest("only SPDY/3.1 is served here");
  const offered = String(headers["x-stream-protocol-version"] ?? "")
    .split(",")
    .map((name) => name.trim());
  const chosen = protocols.find((name) => offered.includes(name));
  if (chosen === undefined) throw badRequest(`none of the protocols ${offered.join(", ")} is served here`);
  return chosen;
}

/** The head of the answer to an upgrade. */
export const acceptance = (protocol: string): string =>
  "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n" +
  `${protocol ? `X-Stream-Protocol-Version: ${protocol}\r\n` : ""}\r\n`;

interface Outcome {
  readonly status: "Success" | "Failure";
  readonly message?: string;
  readonly reason?: string;
  readonly details?: object;
  readonly code?: number;
}

function exitStatus(exitCode: number): Outcome {
  if (exitCode === 0) return { status: "Success" };
  return {
    status: "Failure",
    message: `command terminated with non-zero exit code: exit status ${exitCode}`,
    reason: "NonZeroExitCode",
    details: { causes: [{ reason: "ExitCode", message: String(exitCode) }] },
  };
}

const failureStatus = (error: unknown): Outcome => ({
  status: "Failure",
  message: messageOf(error),
  reason: "InternalError",
  code: 500,
});

/** Later protocols send a Status, earlier ones a text, which is empty for a success. */
function renderOutcome(outcome: Outcome, protocol: string): string {
  if (protocol === protocols[0]) return JSON.stringify({ metadata: {}, ...outcome });
  return outcome.message ?? "";
}
