import { type ApiRequest, type Answer as MadeAnswer } from "#api/exchange.ts";
import { BackendError, badRequest, internalError, StatusError, TooBusyError } from "#api/status.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type Random } from "#lib/data/random.ts";
import { type Log } from "#lib/process/log.ts";
import { type Metrics } from "#lib/process/metrics.ts";
import { StoreClosedError } from "#store/store.ts";
import { type TraceRecorder } from "#trace/recorder.ts";
import { currentTrace, parseTraceparent, type Trace } from "#trace/trace.ts";
import type { ServerAudit } from "./audit/auditor.ts";
import { type Authenticator } from "./authenticate/authenticator.ts";
import { authenticate } from "./authenticate/chain.ts";
import { type Authorizer } from "./authorize/authorizer.ts";
import { authorize } from "./authorize/chain.ts";
import { impersonate } from "./authorize/impersonate.ts";
import { type DispatchDeps, dispatch } from "./dispatch.ts";
import { type FairnessDeps, passOnFairly, receiveFairly, shareFairly } from "./flowcontrol/share-fairly.ts";
import { ownerOf } from "./http/callers.ts";
import { negotiate } from "./http/negotiate.ts";
import { render, type Wire } from "./http/respond.ts";
import { pluginWaits } from "./plugin-waits.ts";
import { endOf, isRecorded, RequestTimes, recordHops, unmeasured } from "./record-hops.ts";
import { type ResourceRegistry } from "./registry.ts";
import { auditIdOf } from "./request/audit-id.ts";
import { countRequests } from "./request/count-requests.ts";
import { type Deadlines } from "./request/deadlines.ts";
import {
  type Answer,
  type Context,
  isStreamed,
  type Next,
  pipeline,
  type RequestInfo,
  type Stage,
} from "./request/pipeline.ts";
import { parseRequestInfo } from "./request/request-info.ts";
import { type IncludeObject } from "./request/table.ts";
import { warningHeaders } from "./request/warnings.ts";

export interface ServerDeps extends DispatchDeps {
  readonly authenticators: readonly Authenticator[];
  readonly authorizers: readonly Authorizer[];
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly recorder: TraceRecorder;
  /** Which requests are served now; without it, all are. */
  readonly fairness?: FairnessDeps | undefined;
  /** How long requests over sockets may take. */
  readonly deadlines: Deadlines;
  /** Records requests; by default, none are recorded. */
  readonly audit?: ServerAudit | undefined;
  /** Comes between callers and the server. For tests; default: nothing. */
  readonly interceptor?: Interceptor | undefined;
  /** The trace that made a revision. */
  traceOf?(revision: number): Trace | undefined;
}

/** Lets tests make requests fail, wait, or lose their answers. */
export interface Interceptor {
  /** Called with every request before anything else; what it throws is the answer. */
  request(request: ApiRequest): ApiRequest | Promise<ApiRequest>;
  /** Called with every answer. */
  answer(answer: Answer): Answer;
}

/** The whole server is a function from request to response. */
export interface ApiServer {
  /** For callers in this process: an object in, an object out; throws StatusError. */
  handle(request: ApiRequest): Promise<MadeAnswer>;
  /** For sockets: never throws. */
  serve(request: ApiRequest): Promise<Served>;
}

/** A response with everything that a socket needs to send it. */
export interface Served {
  readonly wire: Wire;
  readonly headers: Readonly<Record<string, string>>;
  readonly warnings: string[];
  readonly acceptEncoding: string | undefined;
}

/** Every request passes these stages, top to bottom. */
const gauntlet = (deps: ServerDeps): Next =>
  pipeline(
    [
      countRequests(deps),
      recordHops(deps),
      authenticate(deps.authenticators, pluginWaits(deps, "authentication")),
      endOf("authenticate"),
      ...(deps.audit ? [deps.audit.stage] : []),
      impersonate(deps.authorizers),
      ...(deps.fairness ? [shareFairly(deps.fairness)] : []),
      authorize(deps.authorizers, pluginWaits(deps, "authorization")),
      endOf("authorize"),
      admitRequest(deps),
    ],
    dispatch(deps),
  );

/** Reads the body, unless another server does. Unknown or unauthorised callers have been refused on the headers. */
const admitRequest =
  ({ fairness, remote }: ServerDeps): Stage =>
  (context, next) => {
    const { request, user, info } = context;
    const streams = remote.answers(info);
    const received = request.admit?.(user, { passesOn: info.subresource === "proxy" || streams, streams });
    if (fairness && request.bodyStream) passOnFairly(fairness, context, request.bodyStream);
    if (!received) return next(context);
    const whole = fairness && context.seats ? receiveFairly(fairness, { context, received }) : received;
    return whole.then(() => next(context));
  };

export function createApiServer(deps: ServerDeps): ApiServer {
  const run = gauntlet(deps);
  const { interceptor } = deps;
  const ran = (context: Context): Answer | Promise<Answer> => currentTrace.run(context.trace, run, context);
  const handleIn = interceptor ? async (context: Context) => interceptor.answer(await ran(context)) : ran;
  return {
    async handle(request) {
      let context: Context | undefined;
      try {
        context = contextOf(interceptor ? await interceptor.request(request) : request, deps);
        const answer = await handleIn(context);
        const made = answer.type === "deferred" ? await answer.read() : answer;
        return deps.audit ? await deps.audit.handle(context, made) : made;
      } catch (error) {
        throw await failed(error, request, { context, deps });
      } finally {
        context?.seats?.finish();
      }
    },
    async serve(request) {
      let context: Context | undefined;
      try {
        context = contextOf(interceptor ? await interceptor.request(request) : request, deps);
        // Before anything is done: a client that cannot read the response must not have caused a change.
        if (isNegotiated(context, deps)) checkReadable(context, deps);
        const timeoutMs = deps.deadlines.timeoutOf(context);
        context.timeoutMs = timeoutMs;
        const serving = serveIn(deps, handleIn, context);
        if (!(serving instanceof Promise)) return serving;
        if (timeoutMs === undefined) return await serving;
        return await deps.deadlines.within(timeoutMs, serving, () => request.expire?.());
      } catch (error) {
        return await renderError(request, context, await failed(error, request, { context, deps }));
      }
    },
  };
}

/** A response that is available is sent in the same turn. */
function serveIn(deps: ServerDeps, run: Next, context: Context): Served | Promise<Served> {
  const end = (served?: Served): void => context.seats?.finish(served && bytesOf(served.wire));
  let serving: Served | Promise<Served>;
  try {
    const answer = run(context);
    serving =
      answer instanceof Promise ? answer.then((late) => respond(deps, context, late)) : respond(deps, context, answer);
  } catch (error) {
    end();
    throw error;
  }
  if (!(serving instanceof Promise)) {
    end(serving);
    return serving;
  }
  const failed = (error: unknown): never => {
    end();
    throw error;
  };
  return serving.then((served) => {
    end(served);
    return served;
  }, failed);
}

function bytesOf(wire: Wire): number {
  if (wire.type !== "body") return 0;
  let sum = 0;
  for (const { length } of wire.chunks) sum += length;
  return sum;
}

function respond(deps: ServerDeps, context: Context, answer: Answer): Served | Promise<Served> {
  const { request } = context;
  if (answer.type === "watch") request.countWatch?.();
  // A client that does not read its responses gets no further ones, and holds up nobody else.
  const room = request.room?.();
  if (!room) return respondNow(deps, context, answer);
  context.seats?.finish();
  return room.then(() => respondNow(deps, context, answer));
}

function respondNow(deps: ServerDeps, context: Context, answer: Answer): Served | Promise<Served> {
  const wire = rendered(answer, context, deps);
  const { audit } = deps;
  if (audit)
    return Promise.resolve(wire).then(async (made) => served(context, await audit.serve(context, answer, made)));
  return wire instanceof Promise ? wire.then((late) => served(context, late)) : served(context, wire);
}

async function failed(
  error: unknown,
  request: ApiRequest,
  { context, deps }: { readonly context: Context | undefined; readonly deps: ServerDeps },
): Promise<StatusError> {
  const status = toStatusError(error, request, deps.log);
  if (context && deps.audit) await deps.audit.fail(context, status, !(error instanceof StatusError));
  return status;
}

const emptyQuery = new URLSearchParams();
const nobody = { name: "", groups: [] };

function contextOf(request: ApiRequest, { recorder, resources }: ServerDeps): Context {
  const parent = parseTraceparent(request.headers.traceparent) ?? currentTrace.getStore();
  const query = request.query === "" ? emptyQuery : new URLSearchParams(request.query);
  const info = parseRequestInfo(request.method, request.path, query);
  const times =
    recorder.isOn && isRecorded(info, resources) ? new RequestTimes(recorder, parent?.spanId ?? "") : undefined;
  const { traceId, spanId } = recorder.ids.next(parent);
  return {
    request,
    info,
    query,
    trace: times ? { traceId, spanId, write: times } : { traceId, spanId },
    user: nobody,
    warnings: [],
    annotations: new Map(),
    steps: times ?? unmeasured,
    timeoutMs: undefined,
    flow: undefined,
    seats: undefined,
  };
}

const isNegotiated = ({ info }: Context, { remote }: ServerDeps): boolean =>
  info.isResource && !isStreamed(info) && !remote.answers(info);

const includes: readonly IncludeObject[] = ["None", "Metadata", "Object"];

function rendered(answer: Answer, { request, query, user }: Context, deps: ServerDeps): Wire | Promise<Wire> {
  const include = includeOf(query) ?? "Metadata";
  const accept = isReady(answer) ? undefined : request.headers.accept;
  const { clock, traceOf } = deps;
  const traces = answer.type === "watch" && request.headers["x-orlop-traces"] && traceOf ? { traceOf } : {};
  const now = () => clock.now();
  const room = () => request.room?.();
  const jsonOnly = "resource" in answer && answer.resource.isJsonOnly === true;
  return render(answer, {
    negotiated: negotiate(accept, { jsonOnly }),
    include,
    now,
    owner: ownerOf(user.name),
    room,
    ...traces,
  });
}

function includeOf(query: URLSearchParams): IncludeObject | undefined {
  const asked = query.get("includeObject") || "Metadata";
  return includes.find((name) => name === asked);
}

function checkReadable({ request, query, info }: Context, { resources }: ServerDeps): void {
  const { accept } = request.headers;
  const jsonOnly = accept?.includes("protobuf") === true && isJsonOnly(resources, info);
  if (negotiate(accept, { jsonOnly }).as !== "Table" || includeOf(query)) return;
  const asked = JSON.stringify(query.get("includeObject"));
  throw badRequest(
    `Unable to convert to Table as requested: includeObject: Invalid value: ${asked}: must be 'Metadata', 'Object', 'None', or empty`,
  );
}

const isJsonOnly = (resources: ResourceRegistry, { group, version, resource }: RequestInfo): boolean =>
  resources.find(group, version, resource)?.isJsonOnly === true;

/** Streams and documents with their own types are sent as they are. */
const isReady = ({ type }: Answer): boolean => type === "bytes" || type === "stream" || type === "upgrade";

const served = (context: Context, wire: Wire): Served => ({
  wire,
  headers: headersOf(context),
  warnings: warningHeaders(context.warnings),
  acceptEncoding: context.request.headers["accept-encoding"],
});

function headersOf(context: Context): Record<string, string> {
  const { flow } = context;
  if (!flow) return { "audit-id": auditIdOf(context) };
  return {
    "audit-id": auditIdOf(context),
    "x-kubernetes-pf-flowschema-uid": flow.schemaUid,
    "x-kubernetes-pf-prioritylevel-uid": flow.levelUid,
  };
}

async function renderError(request: ApiRequest, context: Context | undefined, error: StatusError): Promise<Served> {
  const wire = await errorWire(request, error, context?.user.name ?? "");
  const retryAfter = error.details?.retryAfterSeconds;
  const headers: Record<string, string> = retryAfter ? { "retry-after": String(retryAfter) } : {};
  if (!context) return { wire, headers, warnings: [], acceptEncoding: undefined };
  const rendered = served(context, wire);
  return { ...rendered, headers: { ...rendered.headers, ...headers } };
}

async function errorWire(request: ApiRequest, error: StatusError, owner: string): Promise<Wire> {
  if (error instanceof TooBusyError) return plainWire(error);
  const answer = { type: "value", status: error.code, value: error } as const;
  const rest = { include: "Metadata", now: () => 0, owner } as const;
  try {
    const { encoding } = negotiate(request.headers.accept);
    const negotiated = { ...negotiate(undefined), encoding };
    return await render(answer, { negotiated, ...rest });
  } catch {
    // The client accepts none of our formats, so the error is sent as JSON anyway.
    return await render(answer, { negotiated: negotiate(undefined), ...rest });
  }
}

const plainWire = ({ code, message }: StatusError): Wire => ({
  type: "body",
  status: code,
  contentType: "text/plain; charset=utf-8",
  chunks: [Buffer.from(`${message}\n`)],
  headers: { "x-content-type-options": "nosniff" },
});

/** The only place where an unknown error becomes a response: with its message, and no other internals. */
function toStatusError(error: unknown, request: ApiRequest, log: Log): StatusError {
  const status = error instanceof StatusError ? error : internalError(error);
  // Requests after the shutdown are not an error of ours, and neither are those whose caller has left.
  const isLate =
    status.cause instanceof StoreClosedError || (request.signal.aborted && error === request.signal.reason);
  const facts = { method: request.method, path: request.path };
  if (status.cause instanceof BackendError)
    log.info("a pod, node or webhook did not answer", { ...facts, error: status.message });
  else if (!isLate && (status.reason === "InternalError" || status.reason === "ServiceUnavailable")) {
    log.error("request failed", { ...facts, error });
  }
  return status;
}
