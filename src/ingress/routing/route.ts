import type { CorsRule } from "./cors.ts";
import { type TextPattern } from "./text-pattern.ts";

/** Which requests go where, in the same form for every API that users write them in. */
export interface Route {
  /** The object that asks for it: `Ingress default/web`. */
  readonly owner: string;
  /** The hosts that it is for: `a.example`, `*.example`, or "" for every host. */
  readonly host: string;
  readonly path: PathMatch;
  /** Undefined for every method. */
  readonly method?: string | undefined;
  readonly headers: readonly Condition[];
  readonly query: readonly Condition[];
  /** Orders routes that match equally well: the lowest rank wins. */
  readonly rank: string;
  readonly action: Action;
}

/** A prefix matches whole segments and never ends in a slash, except "/" itself. */
export type PathMatch =
  | { readonly type: "exact" | "prefix"; readonly value: string }
  | { readonly type: "pattern"; readonly value: string; readonly pattern: TextPattern };

/** What a header or a parameter must be: this value, or one that the pattern matches. */
export interface Condition extends ValueMatch {
  readonly pattern?: TextPattern | undefined;
}

/** The name of a header is in lower case. */
export interface ValueMatch {
  readonly name: string;
  readonly value: string;
}

export type Action = ForwardAction | RedirectAction | RefuseAction;

export interface ForwardAction {
  readonly type: "forward";
  readonly backends: readonly WeightedBackend[];
  readonly change?: RequestChange | undefined;
  readonly mirrors: readonly Mirror[];
  /** Which pages of other sites may use it. Without a rule, that is the backend's business. */
  readonly cors?: CorsRule | undefined;
  /** From the first byte of the request to the last of the answer; 0 means no limit. */
  readonly requestTimeoutMs: number | undefined;
  /** For one attempt at a backend, until the head of its answer. */
  readonly backendTimeoutMs: number | undefined;
  /** The backends speak HTTP/2 although their services do not say so, as for gRPC. */
  readonly isGrpc: boolean;
}

/** Of every `of` requests, the first `part` are copied. */
export interface Mirror {
  readonly backend: string;
  readonly part: number;
  readonly of: number;
}

export interface WeightedBackend {
  /** The key of its endpoints: see `backendKey`. Without one, the requests are refused with the fault. */
  readonly key: string | undefined;
  readonly weight: number;
  readonly fault?: string | undefined;
  readonly change?: RequestChange | undefined;
}

export interface RedirectAction {
  readonly type: "redirect";
  readonly status: number;
  readonly scheme?: string | undefined;
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly path?: PathChange | undefined;
  readonly change?: RequestChange | undefined;
  readonly cors?: CorsRule | undefined;
}

/** Answers without asking a backend. */
export interface RefuseAction {
  readonly type: "refuse";
  readonly status: number;
  readonly message: string;
}

/** What is different in what the backend gets, and in what the client gets. */
export interface RequestChange {
  readonly request?: HeaderChange | undefined;
  readonly response?: HeaderChange | undefined;
  readonly host?: string | undefined;
  readonly path?: PathChange | undefined;
}

export interface HeaderChange {
  readonly set: readonly ValueMatch[];
  readonly add: readonly ValueMatch[];
  readonly remove: readonly string[];
}

export type PathChange =
  | { readonly type: "full"; readonly value: string }
  /** Replaces the part that the route's prefix matched. */
  | { readonly type: "prefix"; readonly value: string };

/** Names the endpoints of a port of a service. The port is a name or a number of the service. */
export const backendKey = (namespace: string, service: string, port: string | number): string =>
  `${namespace}/${service}:${port}`;

/** The same endpoints for bytes that nobody reads on the way, so that they may speak any protocol. */
export const bytesKey = (key: string): string => `${key} bytes`;
