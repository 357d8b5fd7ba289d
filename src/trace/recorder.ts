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
  /** The cause; default: the trace of the running task. Without either, a new trace begins. */
  readonly parent?: Trace | undefined;
  /** When it began, if it is recorded afterwards. */
  readonly startMs?: number | undefined;
}

export interface SpanEnd {
  readonly revision?: number;
  readonly facts?: Facts;
  /** For an object that was not known before, such as one with a generated name. */
  readonly object?: HopObject;
}

/** A step in progress. Whatever runs inside `currentTrace.run(span.trace, …)` is caused by it. */
export interface Span {
  readonly trace: Trace;
  /** Records the hop. A span that is never ended is not recorded. */
  end(end?: SpanEnd): void;
}

export interface RecorderDeps {
  readonly clock: Clock;
  readonly random?: Random;
  /** How many hops are kept, not counting the steps within a request; 0 keeps none. */
  readonly capacity?: number;
}

const defaultCapacity = 1 << 15;

/** The last hops. Recording is on the hot path and only appends; searching is for people and scans all of them. */
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

  /** If false, nothing is kept, so nothing needs to be measured. */
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

  /** Records a hop that was measured elsewhere: by another process, or within a request, with its steps. */
  record(hop: Hop, steps?: Steps): void {
    this.#ring?.push(hop, steps);
    for (const handler of this.#handlers) handler(hop);
  }

  /** Oldest first. */
  byTrace(traceId: string): Hop[] {
    return [...(this.#ring?.ofTrace(traceId) ?? [])];
  }
  /** Every hop about the object itself, oldest first, without its steps. */
  byObject(object: HopObject): Hop[] {
    return [...(this.#ring?.ofObject(object) ?? [])];
  }
  /** The traces that touched the object, newest first. */
  tracesOf(object: HopObject): string[] {
    return [...new Set(this.byObject(object).map(({ traceId }) => traceId))].reverse();
  }
  /** All kept hops, oldest first. */
  all(): Iterable<Hop> {
    return this.#ring?.all() ?? [];
  }
  /** Calls the handler for every hop from now on, without its steps: for exporters and the live page. */
  subscribe(handler: (hop: Hop) => void): () => void {
    this.#handlers.add(handler);
    return () => this.#handlers.delete(handler);
  }
}
