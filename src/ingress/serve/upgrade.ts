import type { IncomingMessage } from "node:http";
import { type Duplex } from "node:stream";
import { hostInUrl } from "#lib/net/ip.ts";
import { http } from "#lib/net/node-http.ts";
import { ignore, splice } from "#lib/net/sockets.ts";
import { dialUpgrade, mayUpgrade, renderUpgrade } from "#lib/net/upgrade.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { type Endpoint } from "./backends.ts";
import { type Call, readCall, refuse } from "./call.ts";
import { chooseBackend, type ForwardDeps, type Forwarding, requestFor } from "./forward.ts";
import { changeHeaders, clientHeaders, headerObject } from "./headers.ts";

/** A connection on which both sides speak another protocol ends after this time without a byte. */
const idleMs = 3_600_000;
const dialMs = 10_000;
const maxAttempts = 3;

/**
 * Whether Node should hand over the connection. HTTP/2 is not another protocol for the same connection here: a backend
 * that accepted it would get requests that nobody has routed.
 */
export const isUpgradable = ({ headers, httpVersion }: IncomingMessage): boolean =>
  httpVersion === "1.1" &&
  /^[A-Za-z0-9.+/_-]{1,64}$/.test(headers.upgrade ?? "") &&
  !/^h2/i.test(headers.upgrade ?? "");

export interface Upgrade {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
  readonly port: number;
}

/** An upgrade as a call: until a backend accepts it, the answer is an ordinary one. */
export function readUpgrade({ request, socket, port }: Upgrade): Call | undefined {
  const response = new http.ServerResponse(request);
  socket.on("error", ignore);
  response.assignSocket(socket as never);
  response.shouldKeepAlive = false;
  response.once("finish", () => socket.end());
  const call = readCall(request, response, port);
  if ("status" in call) {
    refuse({ request, response }, call);
    return undefined;
  }
  if (mayUpgrade(request)) return call;
  refuse(call, { status: 400, message: "a request for an upgrade has no body" });
  return undefined;
}

/** Asks a backend to change the protocol. If it does, bytes are copied both ways until one side ends. */
export async function forwardUpgrade(
  call: Call,
  way: Forwarding & Pick<Upgrade, "socket" | "head">,
  deps: ForwardDeps,
): Promise<string | undefined> {
  const chosen = chooseBackend(way.action.backends, deps.random);
  const backend = chosen?.key === undefined ? undefined : deps.backends.get(chosen.key);
  const refused = (status: number, message: string): string => {
    refuse(call, { status, message });
    return message;
  };
  if (!chosen || !backend) return refused(500, chosen?.fault ?? "the route has no backend");
  const tried = new Set<Endpoint>();
  let fault = backend.fault ?? "the backend has no endpoints";
  for (let attempt = 1; attempt <= maxAttempts; attempt++) {
    const endpoint = backend.choose(tried);
    if (!endpoint) break;
    tried.add(endpoint);
    endpoint.active++;
    try {
      await converse(call, { ...way, endpoint, backend: chosen }, deps);
      return undefined;
    } catch (error) {
      backend.failed(endpoint);
      fault = `the backend cannot be reached: ${messageOf(error)}`;
    } finally {
      endpoint.active--;
    }
  }
  return refused(tried.size === 0 ? 503 : 502, fault);
}

interface Conversation extends Forwarding, Pick<Upgrade, "socket" | "head"> {
  readonly endpoint: Endpoint;
  readonly backend: Parameters<typeof requestFor>[2];
}

async function converse(call: Call, conversation: Conversation, { clock }: ForwardDeps): Promise<void> {
  const { socket, head, endpoint, backend, action } = conversation;
  const request = requestFor(call, conversation, backend);
  const headers = headerObject(request.headers);
  Object.assign(headers, { host: request.host, connection: "upgrade", upgrade: call.request.headers.upgrade });
  const stop = new AbortController();
  const cancel = clock.after(dialMs, () => stop.abort(new Error("no answer in time")));
  const left = () => stop.abort(new Error("the client left"));
  socket.once("close", left);
  try {
    const result = await dialUpgrade({
      url: new URL(request.path, `http://${hostInUrl(endpoint.address)}:${endpoint.port}`),
      ...{ method: request.method, headers, signal: stop.signal },
    });
    if (result.type === "refused") {
      let answer = clientHeaders(result.response.rawHeaders);
      for (const change of [action.change, backend.change]) answer = changeHeaders(answer, change?.response);
      call.response.writeHead(result.response.statusCode ?? 502, headerObject(answer));
      result.response.on("error", () => socket.destroy());
      result.response.pipe(call.response);
      return;
    }
    cancel();
    call.response.detachSocket(socket as never);
    socket.write(renderUpgrade(result.response));
    if (result.head.length > 0) socket.write(result.head);
    if (head.length > 0) result.socket.write(head);
    await splice(socket, result.socket, { clock, idleMs });
  } finally {
    cancel();
    socket.off("close", left);
  }
}
