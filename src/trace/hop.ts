/** The hops of an apply, in order. Hop 1 is the client's, 2 to 8 the server's, and the rest follow by watch. */
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

/** The object of a hop. */
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

/** The consecutive steps within a hop: their names, and when each ended. */
export interface Steps {
  readonly hops: readonly HopName[];
  readonly endsMs: readonly number[];
}
