import { type ApiObject, type Resource } from "#api/resource.ts";
import { type Client } from "#client/client.ts";
import { type EventRecorder } from "#client/events.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type Log } from "#lib/process/log.ts";
import { type Change, type InformerScope, type Informers } from "./informer.ts";

/** What every component is given. */
export interface ReconcilerDeps {
  readonly client: Client;
  readonly informers: Informers;
  readonly clock: Clock;
  readonly log: Log;
  /** Tells users what happened to an object. It is closed when the reconciler ends. */
  readonly events: EventRecorder;
}

/**
 * A name, what it watches, and `reconcile(object)`: make it so, or throw and be retried. It never runs twice at once
 * for the same object, never on a cache older than its own last write, and it can be killed at any line.
 */
export interface Reconciler<T extends ApiObject = ApiObject> {
  readonly name: string;
  readonly reconciles: Resource<T>;
  /** Only these of them: the pods of one node. */
  readonly scope?: InformerScope;
  /** Kinds whose controller owner is a `reconciles`: a change of one wakes its owner. */
  readonly owns?: readonly Resource[];
  /** Other kinds, and which objects a change of one wakes: `[watch(Node, (change) => …)]`. */
  readonly watches?: readonly Watch[];
  /** At most so many objects at a time; default 5. */
  readonly workers?: number;
  /** Also wakes for every object this often. */
  readonly resyncMs?: number;
  /** Called with the object as the informer has it now. To be called again without a change, return `againAfter(ms)`. */
  reconcile(object: T, signal: AbortSignal): Promise<Again | void>;
  /** The object is gone from the API. */
  gone?(ref: { namespace: string; name: string }, signal: AbortSignal): Promise<void>;
}

export interface Again {
  readonly afterMs: number;
}
/** What `reconcile` returns to be called again. Without a time it waits for a change. */
export const againAfter = (afterMs: number | undefined): Again | undefined =>
  afterMs === undefined || afterMs === Infinity ? undefined : { afterMs };

/** Names an object to wake. */
export interface Wake {
  readonly namespace?: string | undefined;
  readonly name: string;
}
export interface Watch<T extends ApiObject = ApiObject> {
  readonly resource: Resource<T>;
  wakes(change: Change<T>): Iterable<Wake>;
}
/** Says which objects a change of another kind wakes. */
export const watch = <T extends ApiObject>(
  resource: Resource<T>,
  wakes: (change: Change<T>) => Iterable<Wake>,
): Watch<T> => ({ resource, wakes });
