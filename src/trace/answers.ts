import { type Hop, type HopObject } from "./hop.ts";

/** What `/orlop/trace` answers. */
export interface TraceAnswer {
  readonly object: HopObject;
  /** "" if nothing is known. */
  readonly traceId: string;
  /** The traces that concern the object, the newest first. */
  readonly traces: readonly TraceSummary[];
  /** Of the chosen trace, oldest first. */
  readonly hops: readonly Hop[];
}

/** One trace, by the request in it that was about the object. */
export interface TraceSummary {
  readonly traceId: string;
  readonly startMs: number;
  readonly verb: string;
  readonly subresource: string;
  readonly user: string;
  readonly client: string;
  readonly status: number;
  /** Nobody's work but the caller's own led to the request. */
  readonly isRoot: boolean;
}

/** What `/orlop/verdicts` answers: the last attempts to place a pod, oldest first. */
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
