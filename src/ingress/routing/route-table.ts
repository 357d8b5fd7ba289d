import { type Steps } from "#lib/async/turns.ts";
import { compareText } from "#lib/data/compare-text.ts";
import { HostIndex, type Wildcard } from "./host-index.ts";
import { type Condition, type Route } from "./route.ts";
import { PatternBudget } from "./text-pattern.ts";

/** What of a request decides where it goes. */
export interface RoutedRequest {
  readonly host: string;
  readonly path: string;
  /** With its question mark, or "". */
  readonly search: string;
  readonly method: string;
  /** The value of a header by its name in lower case; several values are joined by commas. */
  header(name: string): string | undefined;
}

/**
 * Routes that share a host which clients ask for. Only the scope that fits a request best is looked at: for an
 * Ingress it is the host of a rule, for a Gateway the host of a listener.
 */
export interface Scope {
  readonly host: string;
  readonly wildcard: Wildcard;
  readonly routes: readonly Route[];
}

/** For what no scope has a route for. */
export interface TableInput {
  readonly scopes: readonly Scope[];
  readonly fallbacks: readonly Route[];
}

/** Finds the route of a request in time that depends on the request, not on the number of routes. */
export class RouteTable {
  readonly #scopes = new HostIndex<ScopeRoutes>();
  #fallback: Route | undefined;

  /** In steps, because there may be tens of thousands of routes. */
  static *build({ scopes, fallbacks }: TableInput): Steps<RouteTable> {
    const table = new RouteTable();
    for (const { host, wildcard, routes } of scopes) {
      const own = table.#scopes.at(host, wildcard, () => new ScopeRoutes());
      for (const route of routes) {
        own.add(route, wildcard);
        yield;
      }
    }
    for (const own of table.#scopes.all()) yield* own.sort();
    table.#fallback = fallbacks.toSorted(byRank)[0];
    return table;
  }

  match(routed: RoutedRequest): Route | undefined {
    const request = { ...routed, query: lazyQuery(routed.search), budget: new PatternBudget() };
    for (const scope of this.#scopes.find(request.host)) {
      const found = scope.match(request);
      const isUnsure = request.budget.hasSkipped(found && namespaceOf(found));
      const route = found ?? this.#fallback;
      return isUnsure && route ? { ...route, action: tooLong } : route;
    }
    return this.#fallback;
  }
}

/** A client must not choose the route after a pattern by a long text that keeps the pattern from being tried. */
const tooLong: Route["action"] = {
  type: "refuse",
  status: 400,
  message: "the path, a header or a parameter is too long for the regular expressions of the routes",
};

/** The owner is `HTTPRoute namespace/name`. */
const namespaceOf = ({ owner }: Route): string => owner.slice(owner.indexOf(" ") + 1).split("/", 1)[0] ?? "";

interface AskedRequest extends RoutedRequest {
  query(): ReadonlyMap<string, string>;
  readonly budget: PatternBudget;
}

/** The routes of a scope, by the hosts that they name themselves. */
class ScopeRoutes {
  readonly #hosts = new HostIndex<PathIndex>();

  add(route: Route, wildcard: Wildcard): void {
    this.#hosts.at(route.host, wildcard, () => new PathIndex()).add(route);
  }
  *sort(): Steps<void> {
    for (const paths of this.#hosts.all()) yield* paths.sort();
  }
  match(request: AskedRequest): Route | undefined {
    for (const paths of this.#hosts.find(request.host)) {
      const found = paths.match(request);
      if (found) return found;
    }
    return undefined;
  }
}

/** The routes of a host by path. An exact path comes first, then patterns, then the longest prefix. */
class PathIndex {
  readonly #exact = new Map<string, Route[]>();
  readonly #prefix = new Map<string, Route[]>();
  readonly #patterns: Route[] = [];
  /** No prefix is longer. */
  #longest = 0;

  add(route: Route): void {
    const { type, value } = route.path;
    if (type === "pattern") {
      this.#patterns.push(route);
      return;
    }
    const map = type === "exact" ? this.#exact : this.#prefix;
    const same = map.get(value);
    if (same) same.push(route);
    else map.set(value, [route]);
    if (type === "prefix") this.#longest = Math.max(this.#longest, value.length);
  }

  *sort(): Steps<void> {
    this.#patterns.sort(byDetail);
    for (const map of [this.#exact, this.#prefix]) {
      for (const routes of map.values()) {
        if (routes.length > 1) routes.sort(byDetail);
        yield;
      }
    }
  }

  match(request: AskedRequest): Route | undefined {
    const exact = this.#exact.get(request.path)?.find((route) => fits(route, request));
    if (exact) return exact;
    const matched = this.#patterns.find((route) => fitsPattern(route, request) && fits(route, request));
    if (matched) return matched;
    for (const prefix of prefixesOf(request.path, this.#longest)) {
      const found = this.#prefix.get(prefix)?.find((route) => fits(route, request));
      if (found) return found;
    }
    return undefined;
  }
}

/** `/a/b`, `/a` and `/` for `/a/b`, longest first; none is longer than the longest that is wanted. */
function* prefixesOf(path: string, longest: number): Iterable<string> {
  let end = path.length;
  while (end > 0) {
    if (end <= longest) yield path.slice(0, end);
    end = path.lastIndexOf("/", end - 1);
  }
  yield "/";
}

/** Gateway API's order: a method, more headers, more query parameters, age. */
const byDetail = (a: Route, b: Route): number =>
  Number(a.method === undefined) - Number(b.method === undefined) ||
  b.headers.length - a.headers.length ||
  b.query.length - a.query.length ||
  byRank(a, b);

const byRank = (a: Route, b: Route): number => compareText(a.rank, b.rank);

const fitsPattern = (route: Route, { path: asked, budget }: AskedRequest): boolean =>
  route.path.type === "pattern" && budget.matches(route.path.pattern, asked, namespaceOf(route));

function fits(route: Route, request: AskedRequest): boolean {
  const { method, headers, query } = route;
  if (method !== undefined && method !== request.method) return false;
  /** Whether the value is there, and is what it must be. */
  const holds = ({ value, pattern }: Condition, found: string | undefined): boolean =>
    found !== undefined && (pattern ? request.budget.matches(pattern, found, namespaceOf(route)) : found === value);
  if (!headers.every((wanted) => holds(wanted, request.header(wanted.name)))) return false;
  return query.length === 0 || query.every((wanted) => holds(wanted, request.query().get(wanted.name)));
}

/** Reads the parameters when the first route asks for them, and not again for each of thousands. */
function lazyQuery(search: string): AskedRequest["query"] {
  let known: Map<string, string> | undefined;
  return () => {
    if (known) return known;
    known = new Map();
    // If a parameter is repeated, its first value counts.
    for (const [name, value] of new URLSearchParams(search)) if (!known.has(name)) known.set(name, value);
    return known;
  };
}
