import { planCors } from "../routing/cors.ts";
import { prefixOf } from "../routing/plan-ingress.ts";
import {
  type Action,
  backendKey,
  type Condition,
  type HeaderChange,
  type Mirror,
  type PathChange,
  type PathMatch,
  type RequestChange,
  type Route,
  type ValueMatch,
  type WeightedBackend,
} from "../routing/route.ts";
import { compilePattern, type TextPattern } from "../routing/text-pattern.ts";
import {
  type BackendRef,
  type Filter,
  type GatewayRoute,
  type HeaderFilter,
  type PathModifier,
  type RouteMatch,
  type RouteRule,
} from "./kinds.ts";

/** What of other objects decides whether a backend can be used. */
export interface BackendLookup {
  /** Undefined if the backend is good, otherwise the reason and the message. */
  faultOf(ref: BackendRef, from: { readonly kind: string; readonly namespace: string }): RefFault | undefined;
}
export interface RefFault {
  readonly reason: "BackendNotFound" | "InvalidKind" | "RefNotPermitted" | "UnsupportedProtocol";
  readonly message: string;
}

export interface RulesPlan {
  /** Without hosts: every listener adds its own. */
  readonly routes: readonly Omit<Route, "host">[];
  /** How many regular expressions they have. */
  readonly patterns: number;
  readonly refFault: RefFault | undefined;
  /** What is not supported. The route has no effect then. */
  readonly unsupported: string | undefined;
}

export interface RouteSubject {
  readonly kind: "HTTPRoute" | "GRPCRoute" | "TLSRoute";
  readonly route: GatewayRoute;
}

/** Decides what a route does, whatever it is attached to. */
export function planRules({ kind, route }: RouteSubject, lookup: BackendLookup): RulesPlan {
  const { namespace, name, creationTimestamp = "9999" } = route.metadata;
  const planner = new RulePlanner({ kind, namespace }, lookup);
  const routes: Omit<Route, "host">[] = [];
  for (const [index, rule] of (route.spec.rules ?? []).entries()) {
    const action = planner.actionOf(rule);
    const matches = rule.matches?.length ? rule.matches : [{}];
    for (const [at, match] of matches.entries()) {
      const path = planner.pathOf(match);
      if (!path) continue;
      routes.push({
        owner: `${kind} ${namespace}/${name}`,
        path,
        method: planner.methodOf(match),
        headers: planner.valuesOf(match.headers, "header"),
        query: planner.valuesOf(match.queryParams, "query parameter"),
        rank: `${creationTimestamp} ${namespace}/${name} ${String(index).padStart(2, "0")} ${String(at).padStart(2, "0")}`,
        action,
      });
    }
  }
  const { refFault, unsupported, patterns } = planner;
  return { routes: unsupported ? [] : routes, patterns, refFault, unsupported };
}

interface RouteOrigin {
  readonly kind: RouteSubject["kind"];
  readonly namespace: string;
}

/** Each is compiled when the route is planned, and tried for requests. */
const maxPatterns = 16;

class RulePlanner {
  refFault: RefFault | undefined;
  unsupported: string | undefined;
  patterns = 0;
  readonly #from: RouteOrigin;
  readonly #lookup: BackendLookup;

  constructor(from: RouteOrigin, lookup: BackendLookup) {
    this.#from = from;
    this.#lookup = lookup;
  }

  #refuse(what: string): undefined {
    this.unsupported ??= `${what} is not supported`;
    return undefined;
  }

  pathOf({ path, method }: RouteMatch): PathMatch | undefined {
    if (this.#from.kind === "GRPCRoute") return this.#callOf(method);
    const { type = "PathPrefix", value = "/" } = path ?? {};
    if (type === "Exact") return { type: "exact", value };
    if (type === "PathPrefix") return { type: "prefix", value: prefixOf(value) };
    const pattern = this.#patternOf(value);
    return pattern && { type: "pattern", value, pattern };
  }

  #patternOf(source: string): TextPattern | undefined {
    if (++this.patterns > maxPatterns) return this.#refuse(`more than ${maxPatterns} regular expressions in a route`);
    const pattern = compilePattern(source);
    return typeof pattern === "string" ? this.#refuse(pattern) : pattern;
  }

  /** A call is a request for /service/method. */
  #callOf(method: RouteMatch["method"]): PathMatch | undefined {
    if (method === undefined || typeof method === "string") return { type: "prefix", value: "/" };
    const { type = "Exact", service = "", method: called = "" } = method;
    if (type !== "Exact") return this.#refuse(`a method with the type ${type}`);
    if (!/^[A-Za-z0-9_.]*$/.test(service + called)) return this.#refuse("a name of a method with other characters");
    if (service && called) return { type: "exact", value: `/${service}/${called}` };
    if (service) return { type: "prefix", value: `/${service}` };
    return this.#refuse("a method without its service");
  }

  methodOf({ method }: RouteMatch): string | undefined {
    return this.#from.kind === "GRPCRoute" ? "POST" : typeof method === "string" ? method : undefined;
  }

  valuesOf(values: RouteMatch["headers"] = [], what: "header" | "query parameter"): Condition[] {
    return values.map(({ name, value, type = "Exact" }) => {
      const pattern = type === "Exact" ? undefined : this.#patternOf(value);
      return { name: what === "header" ? name.toLowerCase() : name, value, ...(pattern ? { pattern } : {}) };
    });
  }

  actionOf({ filters = [], backendRefs = [], timeouts = {} }: RouteRule): Action {
    const change = this.#changeOf(filters);
    const filter = filters.find((each) => each.cors)?.cors;
    const cors = filter && planCors(filter);
    const redirect = filters.find(({ requestRedirect }) => requestRedirect)?.requestRedirect;
    if (redirect) {
      const { scheme, hostname, port, path, statusCode = 302 } = redirect;
      const to = { scheme, host: hostname, port, path: pathChange(path) };
      return { type: "redirect", status: statusCode, ...to, change, cors };
    }
    return {
      type: "forward",
      backends: backendRefs.map((ref) => this.#backendOf(ref)),
      change,
      cors,
      mirrors: filters.flatMap((filter) => this.#mirrorOf(filter)),
      requestTimeoutMs: milliseconds(timeouts.request),
      backendTimeoutMs: milliseconds(timeouts.backendRequest),
      isGrpc: this.#from.kind === "GRPCRoute",
    };
  }

  #backendOf(ref: BackendRef): WeightedBackend {
    const weight = ref.weight ?? 1;
    const fault = this.#lookup.faultOf(ref, this.#from);
    this.refFault ??= fault;
    if (fault) return { key: undefined, weight, fault: fault.message };
    const key = backendKey(ref.namespace ?? this.#from.namespace, ref.name, ref.port ?? 0);
    return { key, weight, change: this.#changeOf(ref.filters ?? [], "backend") };
  }

  #mirrorOf({ requestMirror }: Filter): Mirror[] {
    if (!requestMirror) return [];
    const { backendRef, percent, fraction } = requestMirror;
    const fault = this.#lookup.faultOf(backendRef, this.#from);
    this.refFault ??= fault;
    if (fault) return [];
    const backend = backendKey(backendRef.namespace ?? this.#from.namespace, backendRef.name, backendRef.port ?? 0);
    const { numerator, denominator = 100 } = fraction ?? { numerator: percent ?? 100 };
    return [{ backend, part: numerator, of: denominator }];
  }

  #changeOf(filters: readonly Filter[], where: "rule" | "backend" = "rule"): RequestChange | undefined {
    const known = ["RequestHeaderModifier", "ResponseHeaderModifier", "URLRewrite"];
    const inRule = [...known, "RequestRedirect", "RequestMirror", "CORS"];
    for (const { type } of filters) {
      if (!(where === "rule" ? inRule : known).includes(type)) this.#refuse(`the filter ${type} of a ${where}`);
    }
    if (filters.length === 0) return undefined;
    const rewrite = filters.find(({ urlRewrite }) => urlRewrite)?.urlRewrite;
    const request = filters.find((filter) => filter.requestHeaderModifier)?.requestHeaderModifier;
    const response = filters.find((filter) => filter.responseHeaderModifier)?.responseHeaderModifier;
    return {
      request: this.#headersOf(request),
      response: this.#headersOf(response),
      host: rewrite?.hostname,
      path: pathChange(rewrite?.path),
    };
  }

  #headersOf(filter: HeaderFilter | undefined): HeaderChange | undefined {
    if (!filter) return undefined;
    const lower = ({ name, value }: ValueMatch): ValueMatch => ({ name: name.toLowerCase(), value });
    const change = {
      set: (filter.set ?? []).map(lower),
      add: (filter.add ?? []).map(lower),
      remove: (filter.remove ?? []).map((name) => name.toLowerCase()),
    };
    for (const { name, value } of [...change.set, ...change.add]) {
      if (framing.has(name)) this.#refuse(`a change of the header ${name}`);
      if (!/^[\t\x20-\x7e]*$/.test(value)) this.#refuse(`the value of the header ${name}`);
    }
    return change;
  }
}

/** They say where a message ends, which is the proxy's business. */
const framing = new Set([
  "content-length",
  "transfer-encoding",
  "connection",
  "upgrade",
  "trailer",
  "te",
  "host",
  "keep-alive",
]);

function pathChange(path: PathModifier | undefined): PathChange | undefined {
  if (!path) return undefined;
  const value = path.type === "ReplaceFullPath" ? path.replaceFullPath : path.replacePrefixMatch;
  const isFull = path.type === "ReplaceFullPath";
  const isPath = /^[\x21-\x7e]*$/.test(value ?? "") && !/[\\#?]/.test(value ?? "");
  return { type: isFull ? "full" : "prefix", value: isPath ? (value ?? "/") : "/" };
}

const units: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1 };

/** `1h30m` and the like; undefined if it is zero, which means no limit. */
export function milliseconds(text: string | undefined): number | undefined {
  let sum = 0;
  for (const [, count = "0", unit = "ms"] of (text ?? "").matchAll(/(\d{1,5})(ms|h|m|s)/g)) {
    sum += Number(count) * (units[unit] ?? 1);
  }
  return sum > 0 ? sum : undefined;
}
