import { groupResource } from "#api/resource.ts";
import { StatusError } from "#api/status.ts";
import { BoundedCache, ownText } from "#lib/data/bounded-cache.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { type Facts, type HopName, type HopObject, type Steps } from "#trace/hop.ts";
import { maxSteps } from "#trace/ids.ts";
import { type TraceRecorder } from "#trace/recorder.ts";
import { type WriteSteps } from "#trace/trace.ts";
import { anonymousUser } from "./authenticate/anonymous.ts";
import { causeOf, type RefusalCause } from "./refusal.ts";
import { type ResourceRegistry } from "./registry.ts";
import {
  type Answer,
  type Context,
  type Next,
  type RequestInfo,
  type RequestSteps,
  type Stage,
} from "./request/pipeline.ts";

const writes = new Set(["create", "update", "patch", "delete", "deletecollection"]);

/** Writes are hops of an apply, except for kinds that are written all the time; other requests pay nothing. */
export const isRecorded = ({ verb, group, version, resource }: RequestInfo, resources: ResourceRegistry): boolean =>
  resource !== "" && writes.has(verb) && !resources.find(group, version, resource)?.isUntraced;

/** For requests that are not recorded. */
export const unmeasured: RequestSteps = { mark() {} };

/** How the time of one write was spent, step by step. */
export class RequestTimes implements RequestSteps, WriteSteps, Steps {
  readonly parentId: string;
  readonly startMs: number;
  readonly hops: HopName[] = [];
  readonly endsMs: number[] = [];
  name = "";
  /** The revision of the write; 0 if there is none. */
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
    // However often a write is retried, only its last steps count.
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
  /** Ignores what is recorded after the response. */
  end(): void {
    this.#isOver = true;
  }
}

/** A stage that only marks the end of the one before it. */
export const endOf =
  (hop: HopName): Stage =>
  (context, next) => {
    context.steps.mark(hop);
    return next(context);
  };

/** Records a hop for every write, with its cause and its revision. */
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

/** Refused requests of anonymous users are not kept, because anyone could fill the memory with them. */
const isAnonymousRefusal = ({ user }: Context, error: unknown): boolean =>
  (user.name === "" || user === anonymousUser) && error instanceof StatusError && error.code < 500;

async function recorded(recording: Recording, context: Context, next: Next): Promise<Answer> {
  try {
    const answer = await next(context);
    // An object that was deleted, or written again meanwhile, is only bytes and would be parsed.
    const isNew = answer.type === "object" && context.info.name === "";
    record(recording, context, {
      status: "status" in answer ? answer.status : 200,
      object: objectOf(context.info, isNew ? answer.encoded.object.metadata : undefined),
      message: "",
    });
    return answer;
  } catch (error) {
    if (isAnonymousRefusal(context, error)) throw error;
    const details = error instanceof StatusError ? error.details : undefined;
    recording.steps.mark(stepAfter(recording.steps.hops));
    record(recording, context, {
      status: error instanceof StatusError ? error.code : 500,
      object: objectOf(context.info, details?.name ? details : { name: recording.steps.name }),
      message: shortened(messageOf(error), maxMessageChars),
      refusedAt: recording.steps.hops.at(-1),
      cause: causeOf(error),
    });
    throw error;
  }
}

/** The step that refused is the one after the last that was recorded. */
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

/** The name of a new object is not in the path. */
function objectOf(info: RequestInfo, known: { name?: string; namespace?: string } | undefined): HopObject {
  // Most paths are short and are kept as they are; of a long one only the names are copied.
  const own = info.path.length > maxPathChars ? (text: string) => ownText(text, maxTextChars) : inFull;
  return {
    resource: own(groupResource(info, info.resource)),
    namespace: own(info.resource === "namespaces" ? "" : (known?.namespace ?? info.namespace)),
    name: own(info.name || shortened(known?.name ?? "")),
  };
}

/** A hop is kept for long, so a client's text is limited to what people read. */
const maxPathChars = 512;
const maxTextChars = 253;
const maxMessageChars = 512;
const inFull = (text: string): string => text;
const shortened = (text: string, maxChars = maxTextChars): string =>
  text.length > maxChars ? ownText(text, maxChars) : text;

interface Outcome {
  readonly status: number;
  readonly object: HopObject;
  readonly message: string;
  readonly refusedAt?: HopName | undefined;
  readonly cause?: RefusalCause | undefined;
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

/** Most requests repeat the same few combinations of user, client and verb, so their facts are stored once. */
class RequestFacts {
  readonly #known = new BoundedCache<Facts>({ entries: 2000, chars: 512 * 1024, keyChars: 1024 });

  of({ info, user, request }: Context, { status, message, refusedAt, cause }: Outcome): Facts {
    const { verb } = info;
    const name = shortened(user.name);
    const client = shortened(request.headers["user-agent"] ?? "");
    const subresource = info.path.length > maxPathChars ? ownText(info.subresource, maxTextChars) : info.subresource;
    if (message) return { verb, subresource, user: name, client, status, refusedAt, message, ...cause };
    const key = `${subresource.length} ${name.length} ${status} ${verb} ${subresource}${name}${client}`;
    let facts = this.#known.get(key);
    if (!facts) {
      facts = { verb, subresource, user: name, client, status };
      this.#known.set(key, facts);
    }
    return facts;
  }
}
