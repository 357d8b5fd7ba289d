import { type ApiRequest, type Answer as MadeAnswer, type UserInfo } from "#api/exchange.ts";
import { type HopName } from "#trace/hop.ts";
import { type Trace } from "#trace/trace.ts";

export type {
  ApiRequest,
  Encoded,
  ListFacts,
  Peer,
  UpgradeConnection,
  UserInfo,
  WatchEventType,
  WatchSink,
} from "#api/exchange.ts";

/**
 * A list whose objects are read from the store, or parsed, for this request alone. That is done only when its turn comes:
 * waiting takes no memory.
 */
export interface DeferredList {
  readonly type: "deferred";
  read(): Promise<Extract<MadeAnswer, { type: "list" }>>;
}
export type Answer = MadeAnswer | DeferredList;

/** What a request asks for, in the terms of authorisation. */
export interface RequestInfo {
  readonly isResource: boolean;
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  /** Plural; "" for non-resource paths. */
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** The path after the subresource, for proxies: `/metrics`. */
  readonly rest: string;
  readonly path: string;
  /** From the query; lists and watches of nodes are authorised by it. */
  readonly fieldSelector?: string;
  /** From the query of a list or watch, for webhooks. */
  readonly labelSelector?: string;
}

/** What the stages find out about a request. */
export interface Context {
  readonly request: ApiRequest;
  readonly info: RequestInfo;
  readonly query: URLSearchParams;
  readonly trace: Trace;
  user: UserInfo;
  /** Become `Warning: 299` headers. */
  readonly warnings: string[];
  /** What the stages record about the request: which rule allowed it, who is impersonated. */
  readonly annotations: Map<string, string>;
  /** How the time of this request was spent. */
  readonly steps: RequestSteps;
}

/** A hop ends: it took the time since the last mark. */
export interface RequestSteps {
  mark(hop: HopName): void;
  /** The name in the body: for a new object it is not in the path, nor in every refusal. */
  about?(name: string): void;
}

export type Next = (context: Context) => Answer | Promise<Answer>;
export type Stage = (context: Context, next: Next) => Answer | Promise<Answer>;

/** Nests the stages, the first outermost. */
export function pipeline(stages: readonly Stage[], last: Next): Next {
  return stages.reduceRight<Next>((next, stage) => (context) => stage(context, next), last);
}
