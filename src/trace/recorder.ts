import { type Clock } from "#lib/async/clock.ts";
import { type Random } from "#lib/data/random.ts";
import { type Facts, type Hop, type HopName, type HopObject, type Steps } from "./hop.ts";
import { HopRing } from "./hop-ring.ts";
import { TraceIds } from "./ids.ts";
import { currentTrace, type Trace } from "./trace.ts";

export interface SpanStart {
  readonly hop: HopName;
  readonly component: string;
  readonly object?: HopObject | undefined;
  /** The cause; default: the trace that the running task belongs to. Without either, a new trace begins. */
  readonly parent?: Trace | undefined;
  /** When it began, if that is over already. */
  readonly startMs?: number | undefined;
}

export interface SpanEnd {
  readonly revision?: number;
  readonly facts?: Facts;
  /** Where the object was not known before: a generated name. */
  readonly object?: HopObject;
}

/** A step under way. What runs inside `currentTrace.run(span.trace, …)` is caused by it. */
export interface Span {
  readonly trace: Trace;
  /** Records the hop. A span that is never ended leaves nothing. */
  end(end?: SpanEnd): void;
}

export interface RecorderDeps {
  readonly clock: Clock;
  readonly random?: Random;
  /** How many hops are kept, the steps within a request not counted; 0 keeps none. */
  readonly capacity?: number;
}

const defaultCapacity = 1 << 15;

/** The last hops. Recording is on the hot path and only appends; finding is for people and looks at all of them. */
export class TraceRecorder {
  readonly ids: TraceIds;
  readonly #clock: Clock;
  readonly #ring: HopRing | undefined;
  readonly #handlers = new Set<(hop: Hop) => void>();

  constructor({ clock, random, capacity = defaultCapacity }: RecorderDeps) {
    this.#clock = clock;
    this.ids = new TraceIds(random);
    this.#ring = capacity > 0 ? new HopRing(capacity) : undefined;
  }

  /** False: nothing is kept, so nothing need be measured. */
  get isOn(): boolean {
    return this.#ring !== undefined;
  }

  /** With fractions where the clock has them. */
  now(): number {
    return this.#clock.fine?.() ?? this.#clock.now();
  }

  startSpan({ hop, component, object, parent = currentTrace.getStore(), startMs = this.now() }: SpanStart): Span {
    const trace = this.ids.next(parent);
    return {
      trace,
      end: (end = {}) =>
        this.record({
          traceId: trace.traceId,
          spanId: trace.spanId,
          parentId: parent?.spanId ?? "",
          hop,
          component,
          object: end.object ?? object,
          revision: end.revision ?? 0,
          startMs,
          durationMs: this.now() - startMs,
          facts: end.facts,
        }),
    };
  }

  /** For hops that were measured elsewhere: by another process, or within a request, then with its steps. */
  record(hop: Hop, steps?: Steps): void {
    this.#ring?.push(hop, steps);
    for (const handler of this.#handlers) handler(hop);
  }

  /** Oldest first. */
  byTrace(traceId: string): Hop[] {
    return [...(this.#ring?.ofTrace(traceId) ?? [])];
  }
  /** Every hop that was about the object itself, oldest first, without the steps within. */
  byObject(object: HopObject): Hop[] {
    return [...(this.#ring?.ofObject(object) ?? [])];
  }
  /** The traces that touched the object, the newest first. */
  tracesOf(object: HopObject): string[] {
    return [...new Set(this.byObject(object).map(({ traceId }) => traceId))].reverse();
  }
  /** All hops that are kept, oldest first. */
  all(): Iterable<Hop> {
    return this.#ring?.all() ?? [];
  }
  /** Calls for every hop from now on, without the steps within: exporters, the live page. */
  subscribe(handler: (hop: Hop) => void): () => void {
    this.#handlers.add(handler);
    return () => this.#handlers.delete(handler);
  }
}
