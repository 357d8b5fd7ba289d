import { type Hop, type HopObject } from "./hop.ts";

/** The response of `/orlop/trace`. */
export interface TraceAnswer {
  readonly object: HopObject;
  /** "" if there is none. */
  readonly traceId: string;
  /** The traces that involve the object, newest first. */
  readonly traces: readonly TraceSummary[];
  /** The hops of the chosen trace, oldest first. */
  readonly hops: readonly Hop[];
}

/** One trace, described by its request for the object. */
export interface TraceSummary {
  readonly traceId: string;
  readonly startMs: number;
  readonly verb: string;
  readonly subresource: string;
  readonly user: string;
  readonly client: string;
  readonly status: number;
  /** The request was not caused by another one in the trace. */
  readonly isRoot: boolean;
}

/** The response of `/orlop/verdicts`: the last attempts to place a pod, oldest first. */
export interface VerdictsAnswer {
  readonly attempts: readonly AttemptAnswer[];
}
export interface AttemptAnswer {
  readonly atMs: number;
  readonly attempt: number;
  /** "" if no node fitted. */
  readonly node: string;
  readonly evaluated: number;
  readonly message: string;
  readonly rejections: readonly NodeRejection[];
}
export interface NodeRejection {
  readonly node: string;
  readonly plugin: string;
  readonly reasons: readonly string[];
}
