import { type Answer, type ApiRequest, type Encoded, type Peer, type UserInfo } from "#api/exchange.ts";
import { type ApiObject, apiVersionOf, type Resource } from "#api/resource.ts";
import { badRequest, internalError, StatusError, statusErrorFrom } from "#api/status.ts";
import { initialEventsEndAnnotation } from "#api/well-known.ts";
import { neverAborted } from "#lib/async/tasks.ts";
import { cloneJson } from "#lib/text/json.ts";
import { currentTrace, type Trace, traceparent } from "#trace/trace.ts";
import { type Client, type ObjectList, type RawOptions, type RawStream, type WatchEvent } from "../client.ts";
import { type ApiCall, type CallTransport, clientOver } from "../requests.ts";
import { PendingBytes, remoteEvents, wholeAnswer } from "./remote-answer.ts";
import { WatchInbox } from "./watch-inbox.ts";

/** The server as a function. */
export type Handle = (request: ApiRequest) => Promise<Answer>;

export interface LocalDeps {
  /** The user agent, for managed fields; default: none. */
  readonly userAgent?: string;
  /** The trace that made a revision. */
  traceOf?(revision: number): Trace | undefined;
  /** The watch ends if a server sends more than this to a full inbox; default 10,000 events. */
  readonly watchBuffer?: number;
}

/**
 * A Client that calls the server in this process: through every gate, without bytes, and with the cache's own objects.
 */
export function localClient(handle: Handle, user: UserInfo, deps: LocalDeps = {}): Client {
  const peer: Peer = { address: "", user };
  const send = async (request: Omit<ApiRequest, "peer" | "headers">, type: string | undefined): Promise<Answer> => {
    try {
      return await handle({ ...request, headers: headersOf(type, deps.userAgent), peer });
    } catch (error) {
      if (request.signal.aborted) throw request.signal.reason;
      throw error instanceof StatusError ? error : internalError(error);
    }
  };
  const ask = ({ method, path, query, contentType, body }: ApiCall, signal = neverAborted): Promise<Answer> =>
    send({ method, path, query, body: undefined, object: cloneJson(body), signal }, contentType);
  const rawAsk = (method: string, url: string, { body, headers, signal = neverAborted }: RawOptions) => {
    const mark = url.indexOf("?");
    const path = mark < 0 ? url : url.slice(0, mark);
    const query = mark < 0 ? "" : url.slice(mark + 1);
    const all = { ...headersOf(undefined, deps.userAgent), ...traceHeader(), ...headers };
    return handle({ method, path, query, body, headers: all, signal, peer }).catch(statusAnswer);
  };

  const pending = new PendingBytes();
  const transport: CallTransport = {
    async call(call, resource, signal) {
      const answer = await ask(call, signal);
      if (answer.type !== "stream") return resultOf(answer);
      const isDropped = call.ignoresResult === true;
      return resultOf(await wholeAnswer(answer, { isDropped, pending: pending.open(resource) }));
    },
    async *watch(call, resource, signal) {
      if (signal.aborted) return;
      const answer = await ask(call, signal);
      if (answer.type === "stream") return yield* remoteWatch(answer, () => pending.open(resource));
      if (answer.type !== "watch") throw badRequest(`the server's response is not a watch: ${failureOf(answer)}`);
      yield* eventsOf(answer, deps, signal);
    },
    async raw(method, path, options) {
      const { status, headers, body } = rawOf(await rawAsk(method, path, options), deps, options.signal);
      return { status, headers, body: await whole(body) };
    },
    stream: async (method, path, options) => rawOf(await rawAsk(method, path, options), deps, options.signal),
  };
  return clientOver(transport);
}

async function* remoteWatch(
  answer: Extract<Answer, { type: "stream" }>,
  open: () => ReturnType<PendingBytes["open"]>,
): AsyncGenerator<WatchEvent<ApiObject>> {
  if (answer.status >= 400) resultOf(await wholeAnswer(answer, { isDropped: false, pending: open() }));
  yield* remoteEvents(answer, open());
}

/** Over HTTP a refusal is a response with a status code, and here it is too. */
function statusAnswer(error: unknown): Answer {
  if (error instanceof StatusError) return { type: "value", status: error.code, value: error };
  throw error;
}

function headersOf(contentType: string | undefined, userAgent: string | undefined): Record<string, string> {
  const headers: Record<string, string> = {};
  if (userAgent) headers["user-agent"] = userAgent;
  if (contentType) headers["content-type"] = contentType;
  return headers;
}

/** For a request that the server may pass on. It knows the trace of others, because they run in the same task. */
function traceHeader(): Record<string, string> {
  const trace = currentTrace.getStore();
  return trace ? { traceparent: traceparent(trace) } : {};
}

/** Returns the value, or throws the error that it describes. */
function resultOf(answer: Answer): unknown {
  switch (answer.type) {
    case "object":
      return answer.encoded.object;
    case "list":
      return listOf(answer.items, answer.list);
    case "value":
      if (answer.status >= 400) throw errorOf(answer.value, answer.status);
      return answer.value;
    case "bytes":
      if (answer.status >= 400) throw errorOf(errorBody(answer.body), answer.status);
      return parse(answer.body);
    default:
      throw badRequest(`expected an object, but the server answered with a ${answer.type}`);
  }
}

function listOf(
  items: readonly Encoded[],
  { resourceVersion, continue: next, remainingItemCount }: Extract<Answer, { type: "list" }>["list"],
): ObjectList<ApiObject> {
  return {
    items: items.map(({ object }) => object),
    metadata: {
      resourceVersion,
      ...(next ? { continue: next } : {}),
      ...(remainingItemCount === undefined ? {} : { remainingItemCount }),
    },
  };
}

function errorOf(value: unknown, status: number): StatusError {
  if (value instanceof StatusError) return value;
  return statusErrorFrom({ code: status, ...(value as object) });
}

/** Throws the error if there is one; otherwise names the type of the response. */
function failureOf(answer: Answer): string {
  if (answer.type === "value" || answer.type === "bytes") resultOf(answer);
  return answer.type;
}

/** Another server may describe its error as it likes. */
function errorBody(body: Uint8Array): unknown {
  try {
    const value = parse(body);
    if (typeof value === "object" && value !== null) return value;
  } catch {
    // It is a text.
  }
  return { message: Buffer.from(body.subarray(0, maxMessageBytes)).toString().trim() };
}
const maxMessageBytes = 1024;

const parse = (body: Uint8Array): unknown => JSON.parse(Buffer.from(body).toString()) as unknown;

/** Delivers a watch's events to one consumer, at its pace. */
async function* eventsOf(
  { start }: Extract<Answer, { type: "watch" }>,
  deps: LocalDeps,
  signal: AbortSignal,
): AsyncGenerator<WatchEvent<ApiObject>> {
  const inbox = new WatchInbox(deps);
  const stop = start(inbox);
  inbox.started();
  const abort = () => inbox.discard();
  signal.addEventListener("abort", abort, { once: true });
  try {
    for await (const event of inbox.events()) {
      if (signal.aborted) return;
      yield event;
    }
  } finally {
    signal.removeEventListener("abort", abort);
    stop();
  }
}

/** The response in the form that HTTP would have carried. */
function rawOf(answer: Answer, deps: LocalDeps, signal: AbortSignal = neverAborted): RawStream {
  switch (answer.type) {
    case "object":
      return rawJson(answer.status, answer.encoded.json());
    case "list": {
      const head = { kind: answer.resource.listKind, apiVersion: apiVersionOf(answer.resource) };
      const { items, metadata } = listOf(answer.items, answer.list);
      // Their type is said once; only custom resources repeat it.
      const untyped = items.map(({ kind: _kind, apiVersion: _version, ...rest }) => rest);
      const value = { ...head, metadata, items: answer.resource.isJsonOnly ? items : untyped };
      return { status: 200, headers: jsonHeaders, body: later(() => text(value)), value };
    }
    case "value":
      return rawJson(answer.status, text(answer.value));
    case "bytes":
      return { status: answer.status, headers: typed(answer), body: once(answer.body) };
    case "stream":
      return { status: answer.status, headers: typed(answer), body: answer.body };
    case "watch":
      return { status: 200, headers: jsonHeaders, body: lines(eventsOf(answer, deps, signal), answer.resource) };
    case "upgrade":
      throw badRequest("the response takes over the connection, which a call within the process does not have");
  }
}

const jsonHeaders = { "content-type": "application/json" };
const text = (value: unknown): Uint8Array => Buffer.from(`${JSON.stringify(value)}\n`);
const typed = (answer: { contentType: string; headers?: Record<string, string | string[]> }) => ({
  ...Object.fromEntries(Object.entries(answer.headers ?? {}).map(([name, value]) => [name, String(value)])),
  "content-type": answer.contentType,
});
const rawJson = (status: number, body: Uint8Array): RawStream => ({ status, headers: jsonHeaders, body: once(body) });

async function* later(make: () => Uint8Array): AsyncGenerator<Uint8Array> {
  yield make();
}

async function* once(body: Uint8Array): AsyncGenerator<Uint8Array> {
  yield body;
}

async function* lines(events: AsyncIterable<WatchEvent<ApiObject>>, resource: Resource): AsyncGenerator<Uint8Array> {
  try {
    for await (const event of events) yield text(event.type === "BOOKMARK" ? bookmarkOf(event, resource) : event);
  } catch (error) {
    yield text({ type: "ERROR", object: error });
  }
}

function bookmarkOf(event: Extract<WatchEvent<ApiObject>, { type: "BOOKMARK" }>, resource: Resource): object {
  const annotations = event.initialEventsEnd ? { annotations: { [initialEventsEndAnnotation]: "true" } } : {};
  const metadata = { resourceVersion: event.resourceVersion, creationTimestamp: null, ...annotations };
  return { type: "BOOKMARK", object: { kind: resource.kind, apiVersion: apiVersionOf(resource), metadata } };
}

async function whole(body: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);
}
