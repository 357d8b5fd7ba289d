import { type ApiObject, type Resource } from "#api/resource.ts";
import { type Client } from "#client/client.ts";
import { type EventRecorder } from "#client/events.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type Log } from "#lib/process/log.ts";
import { type Change, type InformerScope, type Informers } from "./informer.ts";

/** The dependencies of every component. */
export interface ReconcilerDeps {
  readonly client: Client;
  readonly informers: Informers;
  readonly clock: Clock;
  readonly log: Log;
  /** Reports to users what happened to an object. It is closed when the reconciler ends. */
  readonly events: EventRecorder;
}

/**
 * A name, what it watches, and `reconcile(object)`: bring about the desired state, or throw and be retried. It never
 * runs concurrently for the same object and never with a cache older than its own last write, and it can be killed at
 * any line.
 */
export interface Reconciler<T extends ApiObject = ApiObject> {
  readonly name: string;
  readonly reconciles: Resource<T>;
  /** Limits it to a part of them, such as the pods of one node. */
  readonly scope?: InformerScope;
  /** The objects that it is about; default: all. Changes of the others are ignored, which costs next to nothing. */
  concerns?(object: T): boolean;
  /** Kinds whose controller owner is a `reconciles`: a change of one wakes its owner. */
  readonly owns?: readonly Resource[];
  /** Other kinds, and which objects a change of one wakes: `[watch(Node, (change) => …)]`. */
  readonly watches?: readonly Watch[];
  /**
   * For changes that are known only at run time, such as those of kinds that an object names: called once with a
   * function that wakes an object. Returns how to end it.
   */
  follow?(wake: (ref: Wake, trace?: string) => void): () => void;
  /** The maximum number of objects reconciled concurrently; default 5. */
  readonly workers?: number;
  /** Also wakes every object at this interval. */
  readonly resyncMs?: number;
  /** Called with the informer's current object. To be called again without a change, return `againAfter(ms)`. */
  reconcile(object: T, signal: AbortSignal): Promise<Again | void>;
  /** The object no longer exists in the API. */
  gone?(ref: { namespace: string; name: string }, signal: AbortSignal): Promise<void>;
}

export interface Again {
  readonly afterMs: number;
}
/** Returned by `reconcile` to be called again. Without a time it waits for a change. */
export const againAfter = (afterMs: number | undefined): Again | undefined =>
  afterMs === undefined || afterMs === Infinity ? undefined : { afterMs };

/** Identifies an object to wake. */
export interface Wake {
  readonly namespace?: string | undefined;
  readonly name: string;
}
export interface Watch<T extends ApiObject = ApiObject> {
  readonly resource: Resource<T>;
  wakes(change: Change<T>): Iterable<Wake>;
}
/** Declares which objects a change of another kind wakes. */
export const watch = <T extends ApiObject>(
  resource: Resource<T>,
  wakes: (change: Change<T>) => Iterable<Wake>,
): Watch<T> => ({ resource, wakes });
