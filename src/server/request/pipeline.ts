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

const streamed = new Set(["attach", "exec", "proxy", "log", "portforward"]);

/** Is answered by a node, a pod or a service, in whatever form they choose. */
export const isStreamed = ({ subresource }: RequestInfo): boolean => streamed.has(subresource);

/** Has no end that the server could wait for. */
export const isLongRunning = (info: RequestInfo): boolean => info.verb === "watch" || isStreamed(info);

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
  /** Who acts as that user, if somebody does. */
  impersonator?: UserInfo;
  /** Become `Warning: 299` headers. */
  readonly warnings: string[];
  /** What the stages record about the request: which rule allowed it, who is impersonated. */
  readonly annotations: Map<string, string>;
  /** How the time of this request was spent. */
  readonly steps: RequestSteps;
  /** How long it may take; undefined if it has no end, like a watch. */
  timeoutMs?: number | undefined;
  /** The FlowSchema and the priority level of the request, for the headers of its response. */
  flow?: { readonly schemaUid: string; readonly levelUid: string } | undefined;
  /** What it holds of the server until its answer is made. */
  seats?: Seats | undefined;
  /** What is recorded about the request, if it is audited. */
  audit?: AuditNotes;
}

export interface Seats {
  /** Gives them back; the response has so many bytes. The second call does nothing. */
  finish(bytes?: number): void;
}

/** Takes note of what a request contains. */
export interface AuditNotes {
  /** A decoded body. It may be changed afterwards. */
  body(value: unknown, type: { readonly kind: string; readonly apiVersion: string }): void;
  patch(value: unknown): void;
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
