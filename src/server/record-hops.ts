import { type Answer } from "#api/exchange.ts";
import { groupResource } from "#api/resource.ts";
import { StatusError } from "#api/status.ts";
import { messageOf } from "#lib/message-of.ts";
import { type Facts, type HopName, type HopObject, type Steps } from "#trace/hop.ts";
import { maxSteps } from "#trace/ids.ts";
import { type TraceRecorder } from "#trace/recorder.ts";
import { type WriteSteps } from "#trace/trace.ts";
import { type Context, type Next, type RequestInfo, type RequestSteps, type Stage } from "./pipeline.ts";

const writes = new Set(["create", "update", "patch", "delete", "deletecollection"]);
/** Heartbeats and events would push everything else out of memory. */
const unrecorded = new Set(["leases", "events"]);

/** Writes are hops of an apply; the others pay nothing. */
export const isRecorded = ({ verb, resource }: RequestInfo): boolean =>
  resource !== "" && writes.has(verb) && !unrecorded.has(resource);

/** For requests that are not recorded. */
export const unmeasured: RequestSteps = { mark() {} };

/** Where the time of one write went, step by step. */
export class RequestTimes implements RequestSteps, WriteSteps, Steps {
  readonly parentId: string;
  readonly startMs: number;
  readonly hops: HopName[] = [];
  readonly endsMs: number[] = [];
  name = "";
  /** What the write became; 0 if nothing. */
  revision = 0;
  readonly #recorder: TraceRecorder;
  #isOver = false;

  constructor(recorder: TraceRecorder, parentId: string) {
    this.#recorder = recorder;
    this.parentId = parentId;
    this.startMs = recorder.now();
  }

  mark(hop: HopName): void {
    if (this.#isOver) return;
    // However often a write is tried again, its last steps are those that count.
    if (this.hops.length >= maxSteps - 2) {
      this.hops.pop();
      this.endsMs.pop();
    }
    this.hops.push(hop);
    this.endsMs.push(this.#recorder.now());
  }
  about(name: string): void {
    this.name = name;
  }
  committed(revision: number): void {
    if (this.revision === revision || this.#isOver) return;
    this.revision = revision;
    this.mark("persist");
  }
  delivered(): void {
    this.mark("broadcast");
  }
  /** What is still noted after the answer belongs to nobody. */
  end(): void {
    this.#isOver = true;
  }
}

/** A stage that only notes that the one before it is done. */
export const endOf =
  (hop: HopName): Stage =>
  (context, next) => {
    context.steps.mark(hop);
    return next(context);
  };

/** Keeps the hops of every write, with what caused it and what it wrote. */
export function recordHops({ recorder }: { readonly recorder: TraceRecorder }): Stage {
  const facts = new RequestFacts();
  return (context, next) => {
    const { steps } = context;
    return steps instanceof RequestTimes ? recorded({ recorder, facts, steps }, context, next) : next(context);
  };
}

interface Recording {
  readonly recorder: TraceRecorder;
  readonly facts: RequestFacts;
  readonly steps: RequestTimes;
}

async function recorded(recording: Recording, context: Context, next: Next): Promise<Answer> {
  try {
    const answer = await next(context);
    record(recording, context, {
      status: "status" in answer ? answer.status : 200,
      object: objectOf(context.info, answer.type === "object" ? answer.encoded.object.metadata : undefined),
      message: "",
    });
    return answer;
  } catch (error) {
    const details = error instanceof StatusError ? error.details : undefined;
    recording.steps.mark(stepAfter(recording.steps.hops));
    record(recording, context, {
      status: error instanceof StatusError ? error.code : 500,
      object: objectOf(context.info, details?.name ? details : { name: recording.steps.name }),
      message: messageOf(error),
      refusedAt: recording.steps.hops.at(-1),
    });
    throw error;
  }
}

/** The step that refused is the one that was not noted. */
function stepAfter(hops: readonly HopName[]): HopName {
  const last = hops.at(-1);
  switch (last) {
    case undefined:
      return "authenticate";
    case "authenticate":
      return "authorize";
    case "authorize":
    case "mutate":
      return "schema";
    case "schema":
      return hops.includes("mutate") ? "admit" : "mutate";
    default:
      return "persist";
  }
}

/** A new object's name is not in the path. */
function objectOf(info: RequestInfo, known: { name?: string; namespace?: string } | undefined): HopObject {
  return {
    resource: groupResource(info, info.resource),
    namespace: info.resource === "namespaces" ? "" : (known?.namespace ?? info.namespace),
    name: info.name || (known?.name ?? ""),
  };
}

interface Outcome {
  readonly status: number;
  readonly object: HopObject;
  readonly message: string;
  readonly refusedAt?: HopName | undefined;
}

function record({ recorder, facts, steps }: Recording, context: Context, outcome: Outcome): void {
  const { startMs, parentId, revision } = steps;
  steps.end();
  const { traceId, spanId } = context.trace;
  recorder.record(
    {
      traceId,
      spanId,
      parentId,
      hop: "client",
      component: "apiserver",
      object: outcome.object,
      revision,
      startMs,
      durationMs: recorder.now() - startMs,
      facts: facts.of(context, outcome),
    },
    steps,
  );
}

/** Most requests are one of a few: who, with what, does what. Their facts are kept once. */
class RequestFacts {
  readonly #known = new Map<string, Facts>();

  of({ info: { verb, subresource }, user, request }: Context, { status, message, refusedAt }: Outcome): Facts {
    const client = request.headers["user-agent"] ?? "";
    if (message) return { verb, subresource, user: user.name, client, status, refusedAt, message };
    const key = `${verb} ${subresource} ${status} ${user.name} ${client}`;
    let facts = this.#known.get(key);
    if (!facts) {
      if (this.#known.size >= 2000) this.#known.clear();
      facts = { verb, subresource, user: user.name, client, status };
      this.#known.set(key, facts);
    }
    return facts;
  }
}
