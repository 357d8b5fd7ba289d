import { AsyncLocalStorage } from "node:async_hooks";

/** Which apply a step belongs to, and the step itself: W3C trace context. */
export interface Trace {
  /** 32 hex digits, the same for every step of one apply. */
  readonly traceId: string;
  /** 16 hex digits: the step itself. */
  readonly spanId: string;
  /** Where a request in this process records the progress of its write. */
  readonly write?: WriteSteps;
}

/** Callbacks for the progress of a write. */
export interface WriteSteps {
  /** The store has committed it. */
  committed(revision: number): void;
  /** All watchers have received it. */
  delivered(): void;
}

/** The trace of the running task: set around a request and around a reconcile. */
export const currentTrace = new AsyncLocalStorage<Trace>();

export const traceparent = ({ traceId, spanId }: Trace): string => `00-${traceId}-${spanId}-01`;

export function parseTraceparent(header: string | undefined): Trace | undefined {
  if (header?.length !== 55 || !/^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/.test(header)) return undefined;
  const trace = { traceId: header.slice(3, 35), spanId: header.slice(36, 52) };
  return trace.traceId === noTrace || trace.spanId === noSpan ? undefined : trace;
}

const noTrace = "0".repeat(32);
const noSpan = "0".repeat(16);
