import { type Clock } from "#lib/clock.ts";
import { type Random, randomHex, systemRandom } from "#lib/random.ts";
import { RingBuffer } from "#lib/ring-buffer.ts";
import { currentTrace, type Trace } from "./trace.ts";

/** The way of an apply, in order. Hop 1 is the client's, 2 to 8 the server's, the rest follow by watch. */
export const hopNames = [
  "client",
  "authenticate",
  "authorize",
  "mutate",
  "schema",
  "admit",
  "persist",
  "broadcast",
  "control",
  "schedule",
  "run",
  "serve",
] as const;
export type HopName = (typeof hopNames)[number];

/** 1 to 12. */
export const hopNumber = (hop: HopName): number => hopNames.indexOf(hop) + 1;

/** What a hop was about. */
export interface HopObject {
  /** `pods`, `deployments.apps`. */
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
}

/** One recorded step and its cause. */
export interface Hop {
  readonly traceId: string;
  readonly spanId: string;
  /** The span that caused this one; "" for the first of a trace. */
  readonly parentId: string;
  readonly hop: HopName;
  /** Who did it: `apiserver`, `replicaset`, `scheduler`, `kubelet node-1`. */
  readonly component: string;
  readonly object: HopObject | undefined;
  /** The revision that it wrote; 0 if none. */
  readonly revision: number;
  readonly startMs: number;
  readonly durationMs: number;
  /** What was decided and why, for `trace` and `why`. */
  readonly facts: Facts | undefined;
}
export type Facts = Readonly<Record<string, unknown>>;

export interface SpanStart {
  readonly hop: HopName;
  readonly component: string;
  readonly object?: HopObject | undefined;
  /** The cause; default: the trace that the running task belongs to. Without either, a new trace begins. */
  readonly parent?: Trace | undefined;
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
  /** How many hops are kept; default 20,000. */
  readonly capacity?: number;
}

/** The last hops. Recording is on the hot path and only appends; finding is for people and reads them all. */
export class TraceRecorder {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #ring: RingBuffer<Hop>;
  readonly #handlers = new Set<(hop: Hop) => void>();

  constructor({ clock, random = systemRandom, capacity = 20_000 }: RecorderDeps) {
    this.#clock = clock;
    this.#random = random;
    this.#ring = new RingBuffer(capacity);
  }

  startSpan({ hop, component, object, parent = currentTrace.getStore() }: SpanStart): Span {
    const trace = parent ? childOf(parent, this.#random) : newTrace(this.#random);
    const startMs = this.#clock.now();
    return {
      trace,
      end: (end = {}) =>
        this.record({
          ...trace,
          parentId: parent?.spanId ?? "",
          hop,
          component,
          object: end.object ?? object,
          revision: end.revision ?? 0,
          startMs,
          durationMs: this.#clock.now() - startMs,
          facts: end.facts,
        }),
    };
  }

  /** For hops that were measured elsewhere: by another process, or within a request. */
  record(hop: Hop): void {
    this.#ring.push(hop);
    for (const handler of this.#handlers) handler(hop);
  }

  /** Oldest first. */
  byTrace(traceId: string): Hop[] {
    return [...this.#ring].filter((hop) => hop.traceId === traceId);
  }
  /** Every hop that was about the object itself, oldest first. */
  byObject(object: HopObject): Hop[] {
    return [...this.#ring].filter((hop) => hop.object !== undefined && isSame(hop.object, object));
  }
  /** The traces that touched the object, the newest first. */
  tracesOf(object: HopObject): string[] {
    return [...new Set(this.byObject(object).map(({ traceId }) => traceId))].reverse();
  }
  /** All hops that are kept, oldest first. */
  all(): Iterable<Hop> {
    return this.#ring;
  }
  /** Calls for every hop from now on: exporters, the live page. */
  subscribe(handler: (hop: Hop) => void): () => void {
    this.#handlers.add(handler);
    return () => this.#handlers.delete(handler);
  }
}

export const newTrace = (random: Random = systemRandom): Trace => ({
  traceId: nonZeroHex(random, 16),
  spanId: nonZeroHex(random, 8),
});

/** A step of the same trace. */
export const childOf = ({ traceId }: Trace, random: Random = systemRandom): Trace => ({
  traceId,
  spanId: nonZeroHex(random, 8),
});

/** All zeros is not an id in W3C's trace context. */
function nonZeroHex(random: Random, bytes: number): string {
  const hex = randomHex(random, bytes);
  return Number.parseInt(hex, 16) === 0 ? `${hex.slice(1)}1` : hex;
}

const isSame = (a: HopObject, b: HopObject): boolean =>
  a.name === b.name && a.namespace === b.namespace && a.resource === b.resource;
