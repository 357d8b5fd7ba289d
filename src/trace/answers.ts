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
  /** Where the pod waits; absent if it does not wait here. */
  readonly queue?: QueueAnswer | undefined;
}

/** Where a pod without a node waits, and for what. */
export interface QueueAnswer {
  /** `gated`: may not be tried yet. `permit`: has a node and waits for a permission. */
  readonly place: "active" | "backoff" | "unschedulable" | "trying" | "gated" | "permit";
  /** When it is tried again; absent if that depends on changes. */
  readonly untilMs?: number | undefined;
  /** The plugin that keeps it there, and why, if one does. */
  readonly plugin?: string | undefined;
  readonly reason?: string | undefined;
  /** Plugin that rejected it → kinds of objects whose changes may wake it. */
  readonly wokenBy: Readonly<Record<string, readonly string[]>>;
}

/** A node that fits, with its weighted score by each plugin. */
export interface NodeScore {
  readonly node: string;
  readonly total: number;
  readonly plugins: Readonly<Record<string, number>>;
}
export interface AttemptAnswer {
  readonly atMs: number;
  readonly attempt: number;
  /** "" if no node fitted. */
  readonly node: string;
  readonly evaluated: number;
  readonly message: string;
  readonly rejections: readonly NodeRejection[];
  /** The best nodes; absent if no node fitted, or if too many pods were placed in that second. */
  readonly scores?: readonly NodeScore[] | undefined;
  /** Pods that end for its sake, as `namespace/name`. */
  readonly victims?: readonly string[] | undefined;
}
export interface NodeRejection {
  readonly node: string;
  readonly plugin: string;
  readonly reasons: readonly string[];
}
