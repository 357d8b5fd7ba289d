import { type Answer } from "#api/exchange.ts";
import { groupResource } from "#api/resource.ts";
import { StatusError } from "#api/status.ts";
import { type Clock } from "#lib/clock.ts";
import { type HopName, hopNumber, type TraceRecorder } from "#trace/recorder.ts";
import { type Context, type Next, type RequestSteps, type Stage } from "./pipeline.ts";

/** The time of one request, hop by hop. Two numbers a mark: requests pay next to nothing for it. */
export class Steps implements RequestSteps {
  readonly parentId: string;
  readonly startMs: number;
  readonly #clock: Clock;
  readonly hops: HopName[] = [];
  readonly endsMs: number[] = [];

  constructor(clock: Clock, parentId: string) {
    this.#clock = clock;
    this.parentId = parentId;
    this.startMs = fineNow(clock);
  }
  mark(hop: HopName): void {
    this.hops.push(hop);
    this.endsMs.push(fineNow(this.#clock));
  }
}

const fineNow = (clock: Clock): number => clock.fine?.() ?? clock.now();

/** A stage that only notes that the one before it is done. */
export const endOf =
  (hop: HopName): Stage =>
  (context, next) => {
    context.steps.mark(hop);
    return next(context);
  };

const writes = new Set(["create", "update", "patch", "delete", "deletecollection"]);
/** Heartbeats and events would push everything else out of memory. */
const unrecorded = new Set(["leases", "events"]);

/** Keeps the hops of every write, with what caused it and what it wrote. */
export const recordHops =
  ({ recorder, clock }: { readonly recorder: TraceRecorder; readonly clock: Clock }): Stage =>
  (context, next) => {
    const { verb, resource } = context.info;
    if (!writes.has(verb) || unrecorded.has(resource) || resource === "") return next(context);
    return recorded({ recorder, clock }, context, next);
  };

async function recorded(
  deps: { recorder: TraceRecorder; clock: Clock },
  context: Context,
  next: Next,
): Promise<Answer> {
  try {
    const answer = await next(context);
    context.steps.mark("persist");
    record(deps, context, {
      status: "status" in answer ? answer.status : 200,
      revision: revisionOf(answer),
      message: "",
    });
    return answer;
  } catch (error) {
    const status = error instanceof StatusError ? error.code : 500;
    record(deps, context, { status, revision: 0, message: error instanceof Error ? error.message : "" });
    throw error;
  }
}

const revisionOf = (answer: Answer): number => (answer.type === "object" ? answer.encoded.revision : 0);

function record(
  { recorder, clock }: { recorder: TraceRecorder; clock: Clock },
  { info, trace, user, request, steps }: Context,
  { status, revision, message }: { status: number; revision: number; message: string },
): void {
  const { hops, endsMs, startMs, parentId } = steps as Steps;
  const object = { resource: groupResource(info, info.resource), namespace: info.namespace, name: info.name };
  const common = { traceId: trace.traceId, component: "apiserver", object };
  recorder.record({
    ...common,
    spanId: trace.spanId,
    parentId,
    hop: "client",
    revision,
    startMs,
    durationMs: fineNow(clock) - startMs,
    facts: {
      verb: info.verb,
      subresource: info.subresource,
      user: user.name,
      client: request.headers["user-agent"] ?? "",
      status,
      ...(message ? { message } : {}),
    },
  });
  const prefix = trace.spanId.slice(0, 14);
  let from = startMs;
  hops.forEach((hop, at) => {
    const end = endsMs[at] ?? from;
    const spanId = prefix + (hopNumber(hop) * 16 + at).toString(16).padStart(2, "0").slice(-2);
    const ofPersist = hop === "persist" ? revision : 0;
    recorder.record({
      ...common,
      spanId,
      parentId: trace.spanId,
      hop,
      revision: ofPersist,
      startMs: from,
      durationMs: end - from,
      facts: undefined,
    });
    from = end;
  });
}
