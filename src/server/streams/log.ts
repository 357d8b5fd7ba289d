import type { IncomingMessage } from "node:http";
import { badRequest, internalError, invalid, methodNotAllowed, StatusError } from "#api/status.ts";
import { isSet } from "#lib/net/query-flag.ts";
import { isUpgrade } from "#lib/net/upgrade.ts";
import { acceptWebSocket, type WebSocketConnection, type WebSocketRequest } from "#lib/net/websocket.ts";
import { type Log } from "#lib/process/log.ts";
import { type FieldError, forbiddenValue, invalidValue, root, unsupportedValue } from "#schema/field-error.ts";
import { type Answer, type Context } from "#server/request/pipeline.ts";
import { type Endpoint } from "../dispatch.ts";
import { type StreamDeps } from "./deps.ts";
import { type NodeLinks, nodeUrl, readText, send, unreachable } from "./node-link.ts";
import { containerOf, integerIn, podOf } from "./pod-target.ts";
import { negotiateProtocol, webSocketOf } from "./upgrades.ts";

/** GET pods/NAME/log: the output of a container, read by the node's agent. */
export const logEndpoint =
  ({ objects, log }: StreamDeps, links: NodeLinks): Endpoint =>
  async (context) => {
    if (context.info.verb !== "get") throw methodNotAllowed();
    const { name } = context.info;
    const { query, faults } = logQuery(context.query);
    if (faults.length > 0) throw invalid({ group: "", kind: "PodLogOptions" }, name, faults);
    const pod = await podOf(objects, context);
    const container = containerOf(pod, context.query.get("container") ?? "");
    if (!pod.spec.nodeName) return noContent;
    const link = await links.find(pod.spec.nodeName, {
      insecure: isSet(context.query, "insecureSkipTLSVerifyBackend"),
    });
    const url = nodeUrl(link, ["containerLogs", pod.metadata.namespace, name, container], query);
    const upgrade = isUpgrade(context.request.headers) ? wantedWebSocket(context) : undefined;
    const { signal } = context.request;
    const outgoing = { url, method: "GET", headers: {}, agent: link.agent, signal };
    const response = await send(outgoing).catch((error: unknown) => {
      throw unreachable(error);
    });
    if (response.statusCode !== 200) throw await refusedLog(response, name);
    if (upgrade) return overWebSocket(upgrade, response, log);
    return { type: "stream", status: 200, contentType: "text/plain", body: response };
  };

const noContent: Answer = { type: "bytes", status: 204, contentType: "text/plain", body: new Uint8Array() };
const logStreams = ["All", "Stdout", "Stderr"];

/** The query for the node, and the faults of the client's query. */
export function logQuery(asked: URLSearchParams): { query: URLSearchParams; faults: FieldError[] } {
  const query = new URLSearchParams();
  for (const name of ["follow", "previous", "timestamps"]) if (isSet(asked, name)) query.set(name, "true");
  for (const name of ["sinceSeconds", "tailLines", "limitBytes"]) {
    const value = integerIn(asked, name);
    if (value !== undefined) query.set(name, String(value));
  }
  const sinceTime = asked.get("sinceTime");
  if (sinceTime) query.set("sinceTime", checkedTime(sinceTime));
  const stream = asked.get("stream");
  if (stream) query.set("stream", stream);
  return { query, faults: [...logFaults(query)] };
}

function* logFaults(query: URLSearchParams): Iterable<FieldError> {
  const number = (name: string): number | undefined => (query.has(name) ? Number(query.get(name)) : undefined);
  const [tailLines, limitBytes, sinceSeconds] = [number("tailLines"), number("limitBytes"), number("sinceSeconds")];
  if (tailLines !== undefined && tailLines < 0) {
    yield invalidValue(root.child("tailLines"), tailLines, "must be greater than or equal to 0");
  }
  if (limitBytes !== undefined && limitBytes < 1) {
    yield invalidValue(root.child("limitBytes"), limitBytes, "must be greater than 0");
  }
  if (sinceSeconds !== undefined && query.has("sinceTime")) {
    yield forbiddenValue(root, "at most one of `sinceTime` or `sinceSeconds` may be specified");
  } else if (sinceSeconds !== undefined && sinceSeconds < 1) {
    yield invalidValue(root.child("sinceSeconds"), sinceSeconds, "must be greater than 0");
  }
  const stream = query.get("stream") ?? "All";
  if (!logStreams.includes(stream)) yield unsupportedValue(root.child("stream"), stream, logStreams);
  if (stream !== "All" && tailLines !== undefined) {
    yield forbiddenValue(root, "`tailLines` and specific `stream` are mutually exclusive for now");
  }
}

const rfc3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

function checkedTime(text: string): string {
  if (rfc3339.test(text) && !Number.isNaN(Date.parse(text))) return text;
  const quoted = JSON.stringify(text);
  throw badRequest(`parsing time ${quoted} as "2006-01-02T15:04:05Z07:00": cannot parse ${quoted} as "2006"`);
}

/** The node's plain text as a Status. */
async function refusedLog(response: IncomingMessage, name: string): Promise<StatusError> {
  const text = await readText(response);
  const code = response.statusCode ?? 500;
  if (code === 400) return badRequest(text);
  if (code === 500) return internalError(new Error(text));
  const about = { name, kind: "pods/log" };
  if (code === 404) {
    const message = `the server could not find the requested resource ( pods/log ${name})`;
    return new StatusError("NotFound", message, about);
  }
  const message = `the server responded with the status code ${code} but did not return more information ( pods/log ${name})`;
  return new StatusError("", message, about, { code });
}

const logProtocols = ["", "binary.k8s.io", "base64.binary.k8s.io"];

interface WantedWebSocket {
  readonly request: WebSocketRequest;
  readonly protocol: string;
}

function wantedWebSocket(context: Context): WantedWebSocket {
  const request = webSocketOf(context);
  if (!request) throw badRequest("a log can only be upgraded to a WebSocket");
  return { request, protocol: negotiateProtocol(request.protocols, logProtocols) };
}

/** One message for each chunk of the log. */
function overWebSocket({ request, protocol }: WantedWebSocket, body: IncomingMessage, log: Log): Answer {
  return {
    type: "upgrade",
    accept(connection) {
      const serve = async () => {
        const client = await acceptWebSocket(request, protocol, connection);
        void untilGone(client).then(() => body.destroy());
        await sendLog(client, body, protocol === "base64.binary.k8s.io");
      };
      serve().catch((error: unknown) => {
        body.destroy();
        log.debug("log broke off", { error });
      });
    },
  };
}

async function sendLog(client: WebSocketConnection, body: AsyncIterable<Buffer>, isBase64: boolean): Promise<void> {
  try {
    // An empty message tells the client that the log has started.
    await client.send("binary", new Uint8Array());
    for await (const chunk of body) {
      if (isBase64) await client.send("text", Buffer.from(chunk.toString("base64")));
      else await client.send("binary", chunk);
    }
  } catch {
    // The reader or the node left; either way the connection ends here.
  }
  client.close();
}

/** Readers of logs send nothing; pings are answered meanwhile. */
async function untilGone(client: WebSocketConnection): Promise<void> {
  try {
    for await (const _ of client.messages());
  } catch {
    // It violated the protocol and is disconnected.
  }
}
