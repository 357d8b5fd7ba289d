import { type Readable } from "node:stream";
import { requestTimeout } from "#api/status.ts";
import { type WireError, type WireResponse } from "#client/transport/wire.ts";
import { type Clock } from "#lib/async/clock.ts";
import { originUrl } from "#lib/net/origin-url.ts";
import { dialUpgrade, isUpgrade } from "#lib/net/upgrade.ts";
import { type Address } from "#server/extension/connections.ts";
import { describeFault } from "#server/extension/describe-fault.ts";
import { hopByHop, hostOf, namedIn, passedHeaders } from "#server/extension/passed-headers.ts";
import { auditIdOf } from "#server/request/audit-id.ts";
import { type Answer, type Context, isLongRunning } from "#server/request/pipeline.ts";
import { passThrough, refusedUpgrade } from "#server/streams/upgrades.ts";
import { traceparent } from "#trace/trace.ts";
import { checkPath } from "./check-path.ts";
import { identityHeaders } from "./identity-headers.ts";
import { type RemoteApi } from "./remote-api.ts";

export interface ForwardDeps {
  readonly clock: Clock;
}

/** Passes an authorized request on to the server of its group and version, and the response back as it comes. */
export async function forward(deps: ForwardDeps, api: RemoteApi, context: Context): Promise<Answer> {
  if (!api.isAvailable) return plain(503, "service unavailable");
  const { path, headers } = context.request;
  checkPath(path);
  return isUpgrade(headers) ? await upgrade(deps, api, context) : await exchange(deps, api, context);
}

/** Clients ask all groups for their resources at once: a slow server must not hold them up for long. */
const discoveryMs = 5000;
const usualMs = 60_000;

function timeoutOf({ info, timeoutMs }: Context): number | undefined {
  if (!info.isResource) return discoveryMs;
  return isLongRunning(info) ? undefined : (timeoutMs ?? usualMs);
}

async function exchange({ clock }: ForwardDeps, api: RemoteApi, context: Context): Promise<Answer> {
  const { request, info } = context;
  if (info.verb === "watch") request.countWatch?.();
  const late = new AbortController();
  const timeoutMs = timeoutOf(context);
  const stopClock =
    timeoutMs === undefined ? () => undefined : clock.after(timeoutMs, () => late.abort(requestTimeout()));
  const signal = timeoutMs === undefined ? request.signal : AbortSignal.any([request.signal, late.signal]);
  const sent = await send(api, context, signal).catch((error: unknown) => {
    stopClock();
    throw error;
  });
  if ("fault" in sent) {
    stopClock();
    if (request.signal.aborted) throw request.signal.reason;
    if (late.signal.aborted && info.isResource) throw late.signal.reason;
    return plain(503, late.signal.aborted ? "context deadline exceeded" : sent.fault);
  }
  const { response, end } = sent;
  response.body.once("close", () => {
    stopClock();
    end();
  });
  return answerOf(response);
}

type Sent = { readonly response: WireResponse; end(): void } | { readonly fault: string };

/** A second endpoint is tried if the first cannot have done anything. */
async function send(api: RemoteApi, context: Context, signal: AbortSignal): Promise<Sent> {
  const { method, path, query } = context.request;
  const target = query ? `${path}?${query}` : path;
  const body = bodyOf(context);
  for (let isFirst = true; ; isFirst = false) {
    let address: Address | undefined;
    try {
      address = await api.address(target);
    } catch {
      return { fault: "service unavailable" };
    }
    try {
      const borrowed = api.connections.borrow(address);
      const end = () => borrowed[Symbol.dispose]();
      const headers = { ...headersFor(context), ...framingOf(context), host: address.authority };
      try {
        return { response: await borrowed.transport.send({ method, path: target, headers, body, signal }), end };
      } catch (error) {
        end();
        throw error;
      }
    } catch (error) {
      if (isFirst && !signal.aborted && mayRepeat(error, method)) continue;
      return { fault: describeFault(error, address) };
    }
  }
}

/** An idle connection that the server has just closed looks like a lost request. */
function mayRepeat(error: unknown, method: string): boolean {
  const { kind } = error as Partial<WireError>;
  return kind === "connect" || (kind === "lost" && (method === "GET" || method === "HEAD"));
}

/** The body as it arrives. A caller in this process hands over an object. */
function bodyOf({ request: { body, bodyStream, object } }: Context): Uint8Array | Readable | undefined {
  return bodyStream ?? body ?? (object === undefined ? undefined : Buffer.from(JSON.stringify(object)));
}

/** What a body that is passed on needs to be read as it was sent. */
function framingOf({ request: { bodyStream, headers } }: Context): Record<string, string> {
  const { "content-length": length, "content-encoding": encoding } = headers;
  if (!bodyStream) return {};
  return { ...(length ? { "content-length": length } : {}), ...(encoding ? { "content-encoding": encoding } : {}) };
}

const headersFor = (context: Context): Record<string, string | string[]> => ({
  ...passedHeaders(context),
  "x-forwarded-host": hostOf(context),
  "x-forwarded-proto": "https",
  "x-forwarded-uri": context.request.path,
  "audit-id": auditIdOf(context),
  traceparent: traceparent(context.trace),
  ...identityHeaders(context.user),
});

async function upgrade({ clock }: ForwardDeps, api: RemoteApi, context: Context): Promise<Answer> {
  const { method, path, query, headers, signal } = context.request;
  let address: Address | undefined;
  try {
    const found = await api.address(path);
    address = found;
    const url = originUrl({ scheme: "https", host: found.host, port: found.port });
    url.pathname = path;
    url.search = query;
    const { connection = "Upgrade", upgrade: protocol = "" } = headers;
    const sent = { ...headersFor(context), host: found.authority, connection, upgrade: protocol };
    const connect = () => api.connections.dial(found);
    const result = await dialUpgrade({ url, method, headers: sent, signal, connect });
    return result.type === "refused" ? refusedUpgrade(result.response) : passThrough(result, clock);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    return plain(503, address ? describeFault(error, address) : "service unavailable");
  }
}

/** Headers with which only this server speaks to its clients. */
const ownHeaders = /^(content-type|audit-id|alt-svc|x-kubernetes-pf-.*)$/;

function answerOf({ status, headers, body }: WireResponse): Answer {
  if (status >= 300 && status <= 399 && headers.location) {
    body.destroy();
    return plain(502, "the backend attempted to redirect this request, which is not permitted");
  }
  const named = namedIn(headers.connection);
  const passed: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || hopByHop.has(name) || named.includes(name) || ownHeaders.test(name)) continue;
    passed[name] = value;
  }
  const contentType = headers["content-type"] ?? "application/octet-stream";
  return { type: "stream", status, contentType, headers: passed, body };
}

/** In upstream's form: clients show their own words for a status without a body that they know. */
const plain = (status: number, message: string): Answer => ({
  type: "bytes",
  status,
  contentType: "text/plain; charset=utf-8",
  body: Buffer.from(`${message}\n`),
  headers: { "x-content-type-options": "nosniff" },
});
