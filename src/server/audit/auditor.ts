import { type Answer as MadeAnswer } from "#api/exchange.ts";
import { internalError, StatusError } from "#api/status.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type Metrics } from "#lib/process/metrics.ts";
import { type Wire } from "../http/respond.ts";
import { type Answer, type Context, isLongRunning, type Stage } from "../request/pipeline.ts";
import type { AuditBackend } from "./backend.ts";
import type { AuditEvent, ResponseStatus } from "./event.ts";
import type { ScopeOf } from "./policy.ts";
import { RequestAudit } from "./request-audit.ts";
import { responseObject } from "./response-object.ts";

/** Records requests. It is called for every request, at the points where the server knows something new about it. */
export interface ServerAudit extends AsyncDisposable {
  /** Begins a record when the user is known. */
  readonly stage: Stage;
  /** The response that is sent, and with which the record ends. */
  serve(context: Context, answer: Answer, wire: Wire): Wire | Promise<Wire>;
  /** The same for callers in this process. */
  handle(context: Context, answer: MadeAnswer): MadeAnswer | Promise<MadeAnswer>;
  /** The request has failed. `isFault`: not because of the request, but of an error of the server. */
  fail(context: Context, error: StatusError, isFault: boolean): void | Promise<void>;
}

export interface AuditorDeps {
  readonly scopeOf: ScopeOf;
  readonly backends: readonly AuditBackend[];
  readonly clock: Clock;
  readonly metrics: Metrics;
}

export class Auditor implements ServerAudit {
  readonly #deps: AuditorDeps;
  readonly #counts: ReturnType<typeof auditCounts>;

  constructor(deps: AuditorDeps) {
    this.#deps = deps;
    this.#counts = auditCounts(deps.metrics);
  }

  readonly stage: Stage = (context, next) => {
    const audit = this.#begin(context);
    if (!audit) return next(context);
    const isStored = audit.received();
    const go = (stored: boolean): Answer | Promise<Answer> => {
      if (!stored) return this.#reject();
      context.audit = audit;
      const answer = next(context);
      return answer instanceof Promise ? answer.then((late) => remembered(audit, late)) : remembered(audit, answer);
    };
    return isStored instanceof Promise ? isStored.then(go) : go(isStored);
  };

  serve(context: Context, answer: Answer, wire: Wire): Wire | Promise<Wire> {
    const { audit } = context;
    if (!(audit instanceof RequestAudit)) return wire;
    const { signal } = context.request;
    if (wire.type === "watch") {
      const end = this.#begun(audit, { code: 200 }, signal);
      const start: typeof wire.start = (writer) => ending(wire.start(writer), end);
      return { ...wire, start };
    }
    if (wire.type === "stream") {
      const end = this.#begun(audit, { code: wire.status }, signal);
      return { ...wire, body: endingBody(wire.body, end) };
    }
    if (wire.type === "upgrade") return upgraded(wire, this.#begun(audit, { code: 101 }, signal));
    const status = statusOf(answer, wire.status);
    if (isLongRunning(context.info)) void audit.started(status);
    const object = audit.wantsResponse ? responseObject(audit, { answer, wire, context }) : undefined;
    const done = audit.complete({ status, object });
    return done instanceof Promise ? done.then(() => wire) : wire;
  }

  handle(context: Context, answer: MadeAnswer): MadeAnswer | Promise<MadeAnswer> {
    const { audit } = context;
    if (!(audit instanceof RequestAudit)) return answer;
    const { signal } = context.request;
    if (answer.type === "watch") {
      const end = this.#begun(audit, { code: 200 }, signal);
      const start: typeof answer.start = (sink) => ending(answer.start(sink), end);
      return { ...answer, start };
    }
    if (answer.type === "stream") {
      const end = this.#begun(audit, { code: answer.status }, signal);
      return { ...answer, body: endingBody(answer.body, end) };
    }
    if (answer.type === "upgrade") return upgraded(answer, this.#begun(audit, { code: 101 }, signal));
    const object = audit.wantsResponse ? responseObject(audit, { answer, context }) : undefined;
    const done = audit.complete({ status: statusOf(answer, "status" in answer ? answer.status : 200), object });
    return done instanceof Promise ? done.then(() => answer) : answer;
  }

  fail(context: Context, error: StatusError, isFault: boolean): void | Promise<void> {
    const { audit } = context;
    if (!(audit instanceof RequestAudit)) return this.#refused(context, error);
    const { message } = error;
    const shown = isFault ? `APIServer panic'd: ${message.replace(/^Internal error occurred: /, "")}` : message;
    const status = { ...failure(error), message: shown };
    if (isLongRunning(context.info)) void audit.started(status);
    const object = audit.wantsResponse ? JSON.stringify(error) : undefined;
    const done = audit.complete({ status, object }, isFault ? "Panic" : "ResponseComplete");
    return done instanceof Promise ? done.then(() => {}) : undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#deps.backends.map((backend) => backend[Symbol.asyncDispose]()));
  }

  #begin(context: Context): RequestAudit | undefined {
    const scope = this.#deps.scopeOf(context.user, context.info);
    this.#counts.level.add([scope.level]);
    if (scope.level === "None") return undefined;
    const now = () => this.#deps.clock.now();
    return new RequestAudit(context, scope, { emit: (event) => this.#emit(event), now });
  }

  /** The record of a caller who is not authenticated has one event. */
  #refused(context: Context, error: StatusError): void {
    if (error.code !== 401 || context.user.name !== "") return;
    void this.#begin(context)?.started(failure(error));
  }

  #emit(event: AuditEvent): boolean | Promise<boolean> {
    this.#counts.event();
    const results = this.#deps.backends.map((backend) => backend.process(event));
    if (results.some((result) => result instanceof Promise)) {
      return Promise.all(results).then((stored) => stored.every(Boolean));
    }
    return results.every(Boolean);
  }

  #reject(): never {
    this.#counts.rejected.add([]);
    throw internalError(new Error("failed to store audit event"));
  }

  /** A response that continues has begun; the returned function ends its record. */
  #begun(audit: RequestAudit, status: ResponseStatus, signal: AbortSignal): () => void {
    void audit.started(status);
    const end = (): void => {
      signal.removeEventListener("abort", end);
      void audit.complete({ status });
    };
    // A client may leave before its response is sent.
    signal.addEventListener("abort", end, { once: true });
    return end;
  }
}

function auditCounts(metrics: Metrics) {
  return {
    event: metrics.counter("apiserver_audit_event_total", "Audit events that were sent to the audit backends.").of([]),
    level: metrics.counter("apiserver_audit_level_total", "Requests by the level of their audit rule.", ["level"]),
    rejected: metrics.counter(
      "apiserver_audit_requests_rejected_total",
      "Requests that were refused because their audit event could not be stored.",
    ),
  };
}

/** A list that is read later is kept for its record. */
function remembered(audit: RequestAudit, answer: Answer): Answer {
  if (answer.type !== "deferred" || !audit.wantsResponse) return answer;
  const read: typeof answer.read = async () => {
    audit.readLater = await answer.read();
    return audit.readLater;
  };
  return { ...answer, read };
}

function statusOf(answer: Answer, code: number): ResponseStatus {
  const value = answer.type === "value" ? (answer.value as Partial<ResponseStatus> & { kind?: string }) : undefined;
  if (value?.kind !== "Status") return { code };
  const { status, message, reason, details } = value;
  return { status, message, reason, details, code };
}

function failure(error: StatusError): ResponseStatus {
  const { message, reason, details, code } = error;
  return { status: "Failure", message, reason, details, code };
}

function ending(stop: () => void, end: () => void): () => void {
  return () => {
    stop();
    end();
  };
}

async function* endingBody(body: AsyncIterable<Uint8Array>, end: () => void): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } finally {
    end();
  }
}

type Upgrade = Extract<Wire, { type: "upgrade" }>;
const upgraded = (wire: Upgrade, end: () => void): Upgrade => ({
  ...wire,
  accept(connection) {
    connection.socket.once("close", end);
    wire.accept(connection);
  },
});
