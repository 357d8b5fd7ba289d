import { type UserInfo } from "#api/exchange.ts";
import { type FlowSchema, mandatoryFlowSpecs } from "#api/flowcontrol/flow-schema.ts";
import { mandatoryLevelSpecs, type PriorityLevelConfiguration } from "#api/flowcontrol/priority-level-configuration.ts";
import { badRequest, type StatusError, TooBusyError } from "#api/status.ts";
import { type Clock } from "#lib/async/clock.ts";
import { Patience } from "#lib/async/patience.ts";
import { type Context, type Seats } from "#server/request/pipeline.ts";
import { type EstimateDeps, estimateWork } from "./estimate-work.ts";
import { type FlowMetrics } from "./flow-metrics.ts";
import { Level } from "./level.ts";
import { isExempt, planBounds, planLimits } from "./limits/plan-limits.ts";
import { createFlowMatcher, type FlowMatcher, inOrder } from "./match-flow.ts";
import { Pace } from "./queues/pace.ts";
import { SharedAbort } from "./queues/shared-abort.ts";
import { type Tally, type Ticket } from "./queues/ticket.ts";
import { KindTimes } from "./usage-times.ts";

export interface FlowControlDeps {
  readonly clock: Clock;
  /** Of all priority levels together. */
  readonly seats: number;
  readonly estimate: EstimateDeps;
  /** The server's own identity, which is exempt: it must be able to repair the configuration. */
  readonly loopback: UserInfo;
  readonly metrics: FlowMetrics;
  /** A request without a deadline of its own is refused after at least this time in a queue, and after twice as long at most. */
  readonly maxWaitMs: number;
}

/** What a FlowSchema says about its requests. */
interface Flow {
  readonly schema: FlowSchema;
  readonly level: Level;
  readonly tally: Tally;
}

/** How much of a turn of the event loop all levels together may take for requests that never pause. */
const turnMs = 8;
const minTurnMs = 1;

/** Decides which requests are served now, which wait, and which are refused: by FlowSchemas and priority levels. */
export class FlowControl {
  readonly levels = new Map<string, Level>();
  readonly kinds: KindTimes;
  fairFraction = 0;
  readonly #deps: FlowControlDeps;
  readonly #pace: Pace;
  /** For requests without a deadline: hundreds of components' writes may wait at a time. */
  readonly #patience: Patience;
  readonly #hangUps = new SharedAbort();
  #matcher: FlowMatcher = createFlowMatcher([]);
  #flows = new Map<FlowSchema, Flow>();
  #exempt: FlowSchema | undefined;
  #catchAll: FlowSchema | undefined;

  constructor(deps: FlowControlDeps) {
    const { clock } = deps;
    this.#deps = deps;
    this.#patience = new Patience(clock, 2 * deps.maxWaitMs);
    this.#pace = new Pace(() => clock.fine?.() ?? clock.now());
    this.kinds = new KindTimes(this.#pace.now());
    this.configure([], []);
  }

  /** Takes over the configuration. FlowSchemas whose level does not exist are ignored. */
  configure(levels: readonly PriorityLevelConfiguration[], schemas: readonly FlowSchema[]): void {
    const wanted = new Map<string, PriorityLevelConfiguration>();
    for (const [name, spec] of Object.entries(mandatoryLevelSpecs)) wanted.set(name, imagined(name, spec));
    for (const level of levels) wanted.set(level.metadata.name, level);
    for (const [name, object] of wanted) {
      const known = this.levels.get(name);
      if (known) known.object = object;
      else this.levels.set(name, this.#newLevel(object));
    }
    this.#useSchemas(schemas, wanted);
    for (const [name, level] of this.levels) {
      if (wanted.has(name)) continue;
      // It goes when its last request has ended.
      level.isQuiescing = true;
      if (level.set.isIdle) this.levels.delete(name);
    }
    const specs = new Map([...this.levels].map(([name, { object }]) => [name, object.spec]));
    for (const [name, bounds] of planBounds(this.#deps.seats, specs)) {
      const level = this.levels.get(name);
      if (!level) continue;
      const isNew = level.bounds.nominal === 0;
      level.bounds = bounds;
      if (isNew) level.set.limit = bounds.nominal - Math.floor((bounds.nominal - bounds.lower) / 2);
    }
    this.adjust();
  }

  /** Lends the seats that some levels do not need to those that do. */
  adjust(): void {
    const now = this.#pace.now();
    const demands = new Map(
      [...this.levels].map(([name, { object, bounds, set }]) => [
        name,
        { isExempt: isExempt(object.spec), bounds, demand: set.demand.look(now) },
      ]),
    );
    const plan = planLimits(demands);
    this.fairFraction = plan?.fairFraction ?? 0;
    const total = Math.max(1, this.#deps.seats);
    for (const [name, level] of this.levels) {
      if (level.isQuiescing && level.set.isIdle) this.levels.delete(name);
      const limit = plan?.seats.get(name) ?? level.set.limit;
      level.target = plan?.targets.get(name) ?? limit;
      level.set.configure(limit, { partMs: Math.max(minTurnMs, (turnMs * limit) / total), wholeMs: turnMs });
      level.set.times.limit = limit || Math.max(1, Math.round(total / 10));
    }
    const all = [...this.levels.values()];
    this.kinds.limits = {
      waiting: all.reduce((sum, { capacity }) => sum + capacity, 0),
      executing: all.reduce((sum, { bounds }) => sum + bounds.nominal, 0),
    };
  }

  /** Gives the request its seats, now or later. Throws 429 if it cannot have them. */
  admit(context: Context): Seats | Promise<Seats> {
    const { info, user, request } = context;
    const { schema, level, tally } = this.#flowOf(context);
    context.flow = { schemaUid: schema.metadata.uid ?? "", levelUid: level.object.metadata.uid ?? "" };
    const work = estimateWork(this.#deps.estimate, context, level.bounds.maxSeats);
    const distinguisher = distinguisherOf(schema, context);
    const hand = level.handOf(schema.metadata.name, distinguisher);
    const isPatient = request.peer.user !== undefined;
    const started = level.set.start({ tally, distinguisher, hand, work, user, info, isPatient });
    if (typeof started === "string") throw this.#refused(level);
    this.#deps.metrics.arrived(tally, started);
    return started.hasStarted ? started : this.#wait(context, { level, ticket: started });
  }

  #newLevel(object: PriorityLevelConfiguration): Level {
    const level = new Level(object, { clock: this.#deps.clock, pace: this.#pace });
    level.set.kinds = this.kinds;
    level.set.onFinish = (ticket, now) => this.#deps.metrics.finished(ticket, now);
    return level;
  }

  #flowOf({ user, info }: Context): Flow {
    const matched = user === this.#deps.loopback ? this.#exempt : this.#matcher.match(user, info);
    const flow = this.#flows.get(matched ?? (this.#catchAll as FlowSchema));
    if (!flow) throw new Error("there is no catch-all");
    return flow;
  }

  #useSchemas(schemas: readonly FlowSchema[], levels: ReadonlyMap<string, unknown>): void {
    const known = new Map(schemas.map((schema) => [schema.metadata.name, schema]));
    for (const [name, spec] of Object.entries(mandatoryFlowSpecs)) {
      if (!known.has(name)) known.set(name, imagined(name, spec));
    }
    const used = inOrder(known.values()).filter(({ spec }) => levels.has(spec.priorityLevelConfiguration.name));
    this.#exempt = known.get("exempt");
    this.#catchAll = known.get("catch-all");
    this.#matcher = createFlowMatcher(used);
    this.#flows = new Map();
    for (const schema of used) {
      const level = this.levels.get(schema.spec.priorityLevelConfiguration.name);
      if (level) this.#flows.set(schema, { schema, level, tally: level.tallyOf(schema.metadata.name) });
    }
  }

  async #wait(context: Context, { level, ticket }: { level: Level; ticket: Ticket }): Promise<Seats> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = (error: StatusError): void => {
      level.set.cancel(ticket);
      reject(error);
    };
    ticket.go = resolve;
    const cancel = this.#afterWait(context.timeoutMs, () => leave(this.#refused(level)));
    const stop = this.#hangUps.on(context.request.signal, () => leave(badRequest("the client hung up")));
    try {
      await promise;
      return ticket;
    } finally {
      cancel();
      stop();
      this.#deps.metrics.waited(ticket, this.#pace.now());
    }
  }

  #afterWait(timeoutMs: number | undefined, callback: () => void): () => void {
    if (timeoutMs === undefined) return this.#patience.after(callback);
    return this.#deps.clock.after(Math.min(timeoutMs / 4, longestWaitMs), callback);
  }

  #refused({ retryAfter }: Level): StatusError {
    retryAfter.refused(this.#deps.clock.now());
    return new TooBusyError(retryAfter.seconds);
  }
}

const longestWaitMs = 60_000;

function distinguisherOf({ spec }: FlowSchema, { user, info }: Context): string {
  const type = spec.distinguisherMethod?.type;
  return type === "ByUser" ? user.name : type === "ByNamespace" ? info.namespace : "";
}

/** What the server assumes while the object does not exist. */
const imagined = <S>(name: string, spec: S) => ({
  kind: "",
  apiVersion: "",
  metadata: { name, uid: "", resourceVersion: "", generation: 1, creationTimestamp: "" },
  spec,
  status: {},
});
