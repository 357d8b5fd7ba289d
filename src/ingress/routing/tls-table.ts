import { type Steps } from "#lib/async/turns.ts";
import { compareText } from "#lib/data/compare-text.ts";
import { HostIndex, type Wildcard } from "./host-index.ts";
import { type WeightedBackend } from "./route.ts";

/** Which TLS connections go where, whatever is said on them. */
export interface TlsRoute {
  /** The object that asks for it: `TLSRoute default/db`. */
  readonly owner: string;
  /** The names that it is for: `a.example` or `*.example`. */
  readonly host: string;
  /** Of routes for the same host, the lowest rank wins. */
  readonly rank: string;
  /** TLS ends here, and the backend gets what was encrypted. Otherwise it gets the bytes of the client. */
  readonly isTerminated: boolean;
  readonly backends: readonly WeightedBackend[];
}

/** A listener for TLS with the routes that are attached to it. */
export interface TlsScope {
  /** `a.example`, `*.example` for any number of labels, or "" for every name. */
  readonly host: string;
  readonly routes: readonly TlsRoute[];
}

/** A name whose requests are for HTTP. */
export interface HttpHost {
  readonly host: string;
  readonly wildcard: Wildcard;
}

/** `http`: TLS ends here, and requests are read. `refuse`: a listener has the name, but no route. */
export type TlsDecision = TlsRoute | "http" | "refuse";

/** Finds where a TLS connection goes by the name that the client asks for. The most specific listener decides. */
export class TlsTable {
  readonly #scopes = new HostIndex<Listener>();
  readonly #http = new HostIndex<HttpHost>();

  /** In steps, because there may be many. Undefined without a listener for TLS: then nobody has to know the names. */
  static *build(scopes: readonly TlsScope[], http: readonly HttpHost[]): Steps<TlsTable | undefined> {
    if (scopes.length === 0) return undefined;
    const table = new TlsTable();
    for (const { host, routes } of scopes) {
      const listener = table.#scopes.at(host, "any labels", () => ({ host, routes: new HostIndex() }));
      for (const route of routes) {
        const holder = listener.routes.at(route.host, "any labels", () => ({ route }));
        if (compareText(route.rank, holder.route.rank) < 0) holder.route = route;
        yield;
      }
    }
    for (const one of http) {
      table.#http.at(one.host, one.wildcard, () => one);
      yield;
    }
    return table;
  }

  /** Without a name, only HTTP has something for the client. */
  find(name: string | undefined): TlsDecision {
    if (!name) return "http";
    const listener = first(this.#scopes.find(name));
    if (!listener) return "http";
    const route = first(listener.routes.find(name))?.route;
    const http = first(this.#http.find(name));
    const lead = http ? precisionOf(listener.host) - precisionOf(http.host) : 1;
    if (route && lead >= 0) return route;
    return lead <= 0 ? "http" : "refuse";
  }
}

interface Listener {
  readonly host: string;
  readonly routes: HostIndex<{ route: TlsRoute }>;
}

const first = <T>(found: Iterable<T>): T | undefined => {
  for (const one of found) return one;
  return undefined;
};

/** Of two hosts that both stand for a name, the more specific one has more. */
const precisionOf = (host: string): number => (host === "" ? 0 : host.startsWith("*.") ? host.length : 1_000);
