import { type Readable, type Writable } from "node:stream";
import { type Clock } from "#lib/async/clock.ts";
import { type Random } from "#lib/data/random.ts";
import { IdleTimer, ignore } from "#lib/net/sockets.ts";
import { type Log } from "#lib/process/log.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { type ForwardAction, type RequestChange, type Route, type WeightedBackend } from "../routing/route.ts";
import { type Backend, type Backends, type Endpoint } from "./backends.ts";
import { type Call, refuse } from "./call.ts";
import { type BackendAnswer, type BackendRequest, ConnectError, type Exchange, openExchange } from "./exchange.ts";
import { backendHeaders, changeHeaders, clientHeaders, headerObject, sharedHeaders } from "./headers.ts";
import { backendPath } from "./rewrite.ts";

export interface ForwardDeps {
  readonly backends: Backends;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** How long a backend may take to the head of its answer. */
const answerMs = 60_000;
/** How long nothing may happen in either direction. */
const idleMs = 600_000;
/** How long a reader may take nothing of what was sent to it. */
const stallMs = 60_000;
const maxAttempts = 3;

export interface Forwarding {
  readonly route: Route;
  readonly action: ForwardAction;
}

/** Passes a request on and its answer back. Returns the fault if the proxy had to answer itself. */
export async function forward(call: Call, way: Forwarding, deps: ForwardDeps): Promise<string | undefined> {
  const chosen = chooseBackend(way.action.backends, deps.random);
  const backend = chosen?.key === undefined ? undefined : deps.backends.get(chosen.key);
  if (!chosen || !backend) {
    const message = chosen?.fault ?? "the route has no backend";
    refuse(call, { status: 500, message });
    return message;
  }
  const request = requestFor(call, way, chosen);
  using limits = limitsOf(call, way.action, deps.clock);
  const result = await tryEndpoints(call, { backend, request, action: way.action, limits }, deps);
  if ("fault" in result) {
    if (!limits.isGone) refuse(call, { status: result.status, message: result.fault });
    return limits.isGone ? undefined : result.fault;
  }
  const changes = [way.action.change, chosen.change];
  await passBack(call, result, { route: way.route, changes, limits, clock: deps.clock });
  return undefined;
}

/** By weight. A backend that is broken keeps its share of the requests, which fail. */
export function chooseBackend(backends: readonly WeightedBackend[], random: Random): WeightedBackend | undefined {
  const total = backends.reduce((sum, { weight }) => sum + weight, 0);
  if (total <= 0) return undefined;
  let left = random() * total;
  for (const backend of backends) {
    left -= backend.weight;
    if (left < 0) return backend;
  }
  return backends.findLast(({ weight }) => weight > 0);
}

export function requestFor(call: Call, { route, action }: Forwarding, backend: WeightedBackend): BackendRequest {
  const { request, target, client, bodyLength } = call;
  const method = request.method ?? "GET";
  let headers = backendHeaders(request.rawHeaders, client);
  for (const change of [action.change, backend.change]) headers = changeHeaders(headers, change?.request);
  const change = backend.change?.path ?? action.change?.path;
  return {
    method,
    path: backendPath(target, route.path, change),
    host: backend.change?.host ?? action.change?.host ?? client.host,
    headers: headers.filter(([name]) => name !== "host"),
    bodyLength,
    mayReuse: isRepeatable(method) && bodyLength === undefined,
  };
}

/** Whether the request can be sent twice without harm. */
const isRepeatable = (method: string): boolean => ["GET", "HEAD", "OPTIONS", "PUT", "DELETE"].includes(method);

/** Ends the exchange when the client leaves, when nothing happens, and when the time is up. */
interface Limits extends Disposable {
  readonly isGone: boolean;
  readonly isLate: boolean;
  touch(): void;
  /** Called once at the end of all patience. */
  onEnd(end: () => void): void;
}

function limitsOf({ response }: Call, { requestTimeoutMs }: ForwardAction, clock: Clock): Limits {
  let end: () => void = ignore;
  const state = { isGone: false, isLate: false };
  const gone = () => {
    state.isGone = !response.writableFinished;
    if (state.isGone) end();
  };
  response.once("close", gone);
  const late = () => {
    state.isLate = true;
    end();
  };
  const idle = new IdleTimer(clock, idleMs, late);
  const cancel = requestTimeoutMs ? clock.after(requestTimeoutMs, late) : ignore;
  return {
    get isGone() {
      return state.isGone;
    },
    get isLate() {
      return state.isLate;
    },
    touch: () => idle.touch(),
    onEnd(next) {
      end = next;
      if (state.isGone || state.isLate) next();
    },
    [Symbol.dispose]() {
      response.off("close", gone);
      idle.stop();
      cancel();
    },
  };
}

interface Attempts {
  readonly backend: Backend;
  readonly request: BackendRequest;
  readonly action: ForwardAction;
  readonly limits: Limits;
}
interface Answered {
  readonly exchange: Exchange;
  readonly answer: BackendAnswer;
  readonly endpoint: Endpoint;
}
interface Failed {
  readonly status: number;
  readonly fault: string;
}

/**
 * Tries other endpoints as long as nothing of the request was sent, and once more if it had no body and does no harm
 * when it arrives twice.
 */
async function tryEndpoints(call: Call, attempts: Attempts, deps: ForwardDeps): Promise<Answered | Failed> {
  const { backend, request, limits } = attempts;
  const tried = new Set<Endpoint>();
  let fault = backend.fault ?? "the backend has no endpoints";
  for (let attempt = 1; attempt <= maxAttempts; attempt++) {
    const endpoint = backend.choose(tried);
    if (!endpoint) break;
    tried.add(endpoint);
    try {
      return await tryEndpoint(call, { ...attempts, endpoint }, deps);
    } catch (error) {
      if (limits.isGone) return { status: 499, fault: "the client left" };
      if (limits.isLate || error instanceof LateError)
        return { status: 504, fault: "the backend did not answer in time" };
      if (error instanceof ConnectError) backend.failed(endpoint);
      else if (!request.mayReuse) return { status: 502, fault: `the backend failed: ${messageOf(error)}` };
      fault = `the backend cannot be reached: ${messageOf(error)}`;
    }
  }
  return { status: tried.size === 0 ? 503 : 502, fault };
}

class LateError extends Error {
  override readonly name = "LateError";
}

async function tryEndpoint(
  call: Call,
  { backend, request, action, limits, endpoint }: Attempts & { readonly endpoint: Endpoint },
  { clock }: ForwardDeps,
): Promise<Answered> {
  endpoint.active++;
  call.response.once("close", () => endpoint.active--);
  const exchange = await openExchange(endpoint, request, { clock, isHttp2: backend.isHttp2 || action.isGrpc });
  limits.onEnd(() => exchange.destroy());
  const timeoutMs = action.backendTimeoutMs || (action.isGrpc ? idleMs : answerMs);
  const late = Promise.withResolvers<never>();
  const cancel = clock.after(timeoutMs, () => {
    late.reject(new LateError("no answer in time"));
    exchange.destroy();
  });
  sendBody(call, exchange, { limits, clock });
  try {
    const answer = await Promise.race([exchange.answer, late.promise]);
    return { exchange, answer, endpoint };
  } catch (error) {
    exchange.destroy();
    throw error;
  } finally {
    cancel();
    late.promise.catch(ignore);
  }
}

interface Pace {
  readonly limits: Limits;
  readonly clock: Clock;
}

/** The answer may come before the body has been sent, so nobody waits for this. */
function sendBody({ request, bodyLength }: Call, exchange: Exchange, pace: Pace): void {
  if (bodyLength === undefined) return void exchange.body.end();
  copy(request, exchange.body, pace).then(
    () => exchange.body.end(),
    () => exchange.destroy(),
  );
}

async function copy(from: Readable, to: Writable, { limits, clock }: Pace): Promise<void> {
  // A body that nobody wants any more must not take the connection of its client with it.
  for await (const chunk of from.iterator({ destroyOnReturn: false })) {
    limits.touch();
    if (to.destroyed) throw new Error("the other side is closed");
    if (!to.write(chunk)) await drainedInTime(to, clock);
  }
}

async function drainedInTime(stream: Writable, clock: Clock): Promise<void> {
  if (!stream.writableNeedDrain || stream.destroyed) return;
  await new Promise<void>((resolve) => {
    const done = () => {
      cancel();
      stream.off("drain", done);
      stream.off("close", done);
      resolve();
    };
    const cancel = clock.after(stallMs, () => {
      stream.destroy();
      done();
    });
    stream.on("drain", done);
    stream.on("close", done);
  });
}

interface PassBack extends Pace {
  readonly route: Route;
  readonly changes: readonly (RequestChange | undefined)[];
}

async function passBack(
  call: Call,
  { exchange, answer }: Answered,
  { route, changes, limits, clock }: PassBack,
): Promise<void> {
  const { response } = call;
  let headers = clientHeaders(answer.headers);
  for (const change of changes) headers = changeHeaders(headers, change?.response);
  const sent = headerObject(sharedHeaders(headers, route, call.routed));
  try {
    response.writeHead(answer.status, sent);
    // The first part of a stream may come much later.
    if (sent["content-length"] === undefined) response.flushHeaders();
    await copy(answer.body, response, { limits, clock });
    const trailers = headerObject(clientHeaders(answer.trailers()));
    if (Object.keys(trailers).length > 0) response.addTrailers(trailers as never);
    response.end();
  } catch {
    // The head was sent, so cutting the answer off is the only way to say that it is not whole.
    response.destroy();
  } finally {
    if (!answer.body.readableEnded) exchange.destroy();
  }
}
