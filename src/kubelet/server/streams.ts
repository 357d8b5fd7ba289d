import type { IncomingMessage } from "node:http";
import { badRequest, StatusError } from "#api/status.ts";
import type { StreamRequest } from "#kubelet/runtime/runtime.ts";
import { isSet } from "#lib/net/query-flag.ts";
import { endSoon, splice } from "#lib/net/sockets.ts";
import { dialUpgrade, renderUpgrade, upgradeHeaders } from "#lib/net/upgrade.ts";
import { containerOf, type NodeRequest, podOf, refusal, type UpgradeRoute, type Upgrading } from "./requests.ts";

/** A stream without traffic for this long is closed. */
const idleMs = 4 * 3600 * 1000;

/** /exec/NAMESPACE/POD/CONTAINER?command=…&stdin=1&stdout=1&stderr=1&tty=1 */
export const exec: UpgradeRoute = async (request, connection) => {
  const { ref, container } = containerOf(request);
  const command = request.query.getAll("command");
  const streams = streamRequest(request);
  if (command.length === 0) throw badRequest("you must specify at least 1 command");
  await passOn(request, connection, (signal) =>
    request.handle.execUrl(ref, container, { command, ...streams }, signal),
  );
};

/** /attach/NAMESPACE/POD/CONTAINER?stdin=1&… */
export const attach: UpgradeRoute = async (request, connection) => {
  const { ref, container } = containerOf(request);
  const streams = streamRequest(request);
  await passOn(request, connection, (signal) => request.handle.attachUrl(ref, container, streams, signal));
};

/** /portForward/NAMESPACE/POD: the streams name the ports; with WebSockets the query does. */
export const portForward: UpgradeRoute = async (request, connection) => {
  const ref = podOf(request);
  const ports = portsOf(request);
  await passOn(request, connection, (signal) => request.handle.portForwardUrl(ref, ports, signal));
};

function streamRequest({ query }: NodeRequest): StreamRequest {
  const tty = isSet(query, "tty");
  const [stdin, stdout] = [isSet(query, "stdin"), isSet(query, "stdout")];
  // A terminal has a single output stream.
  const stderr = isSet(query, "stderr") && !tty;
  if (!stdin && !stdout && !stderr) throw badRequest("you must specify at least 1 of stdin, stdout, stderr");
  return { stdin, stdout, stderr, tty };
}

function portsOf({ query, message }: NodeRequest): number[] {
  if (message.headers.upgrade?.toLowerCase() !== "websocket") return [];
  const texts = query.getAll("port").flatMap((value) => value.split(","));
  if (texts.length === 0) throw badRequest('query parameter "port" is required');
  return texts.map((text) => {
    const port = Number(text);
    if (!Number.isInteger(port) || port < 1 || port > 65535) {
      throw badRequest(`unable to parse ${JSON.stringify(text)} as a port`);
    }
    return port;
  });
}

/** Lets the runtime upgrade the connection, and then only forwards bytes. */
async function passOn(
  { handle, message, signal, clock, log }: NodeRequest,
  { socket, head }: Upgrading,
  open: (signal: AbortSignal) => Promise<string>,
): Promise<void> {
  const url = new URL(await open(signal));
  const headers = upgradeHeaders(message.headers);
  const agent = handle.streamAgent;
  const result = await dialUpgrade({ url, method: message.method ?? "GET", headers, agent, signal });
  if (result.type === "refused") throw await refusedBy(result.response);
  if (socket.destroyed) {
    result.socket.destroy();
    return;
  }
  socket.write(renderUpgrade(result.response));
  if (head.length > 0) socket.unshift(head);
  if (result.head.length > 0) result.socket.unshift(result.head);
  await splice(socket, result.socket, { clock, idleMs });
  log.debug("stream ended", { path: url.pathname.split("/")[1] });
}

const maxRefusalBytes = 50_000;

/** An error with the runtime's own message. */
async function refusedBy(response: IncomingMessage): Promise<StatusError> {
  let text = "";
  for await (const chunk of response) {
    text += String(chunk);
    if (text.length > maxRefusalBytes) break;
  }
  return new StatusError("", text.trim(), undefined, { code: response.statusCode ?? 500 });
}

/** Sends an ordinary response on a socket that was to be upgraded. */
export function refuseUpgrade({ socket }: Upgrading, error: unknown, clock: NodeRequest["clock"]): void {
  if (socket.destroyed || socket.writableEnded) return;
  const { status, text } = refusal(error, 500);
  const body = Buffer.from(text);
  const head = `HTTP/1.1 ${status} Refused\r\nContent-Type: text/plain; charset=utf-8\r\n`;
  socket.write(`${head}Content-Length: ${body.length}\r\nConnection: close\r\n\r\n`);
  socket.write(body);
  endSoon(socket, clock);
}
