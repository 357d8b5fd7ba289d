import type { Agent } from "node:http";
import http2 from "node:http2";
import { type Clock } from "#lib/async/clock.ts";
import { type Random } from "#lib/data/random.ts";
import { hostInUrl } from "#lib/net/ip.ts";
import { http } from "#lib/net/node-http.ts";
import { ignore } from "#lib/net/sockets.ts";
import { type BackendPlan, type EndpointPlan } from "../routing/plan-backend.ts";

export interface BackendDeps {
  readonly clock: Clock;
  readonly random: Random;
}

/** The backends of all routes by key. A change leaves requests in progress alone. */
export class Backends {
  readonly #deps: BackendDeps;
  readonly #backends = new Map<string, Backend>();

  constructor(deps: BackendDeps) {
    this.#deps = deps;
  }

  set(key: string, plan: BackendPlan): void {
    const known = this.#backends.get(key);
    if (known) known.update(plan);
    else this.#backends.set(key, new Backend(plan, this.#deps));
  }
  delete(key: string): void {
    this.#backends.get(key)?.update({ endpoints: [], isHttp2: false, fault: "it is no longer used" });
    this.#backends.delete(key);
  }
  get(key: string): Backend | undefined {
    return this.#backends.get(key);
  }
  keys(): Iterable<string> {
    return this.#backends.keys();
  }
  close(): void {
    for (const key of [...this.#backends.keys()]) this.delete(key);
  }
}

/** How long an endpoint that could not be reached gets requests only if there is no other. */
const pauseMs = 5_000;

/** One port of a service: chooses the endpoint of each request. */
export class Backend {
  readonly #deps: BackendDeps;
  readonly #endpoints = new Map<string, Endpoint>();
  #list: readonly Endpoint[] = [];
  #plan: BackendPlan;

  constructor(plan: BackendPlan, deps: BackendDeps) {
    this.#deps = deps;
    this.#plan = plan;
    this.update(plan);
  }

  get fault(): string | undefined {
    return this.#plan.fault;
  }
  get isHttp2(): boolean {
    return this.#plan.isHttp2;
  }

  /** Endpoints that leave get no further requests; those that they have go on. */
  update(plan: BackendPlan): void {
    this.#plan = plan;
    const wanted = new Map(plan.endpoints.map((endpoint) => [`${endpoint.address} ${endpoint.port}`, endpoint]));
    for (const [key, endpoint] of this.#endpoints) {
      if (wanted.has(key)) continue;
      this.#endpoints.delete(key);
      endpoint.retire();
    }
    for (const [key, endpoint] of wanted) {
      if (!this.#endpoints.has(key)) this.#endpoints.set(key, new Endpoint(endpoint));
    }
    this.#list = [...this.#endpoints.values()];
  }

  /**
   * The less busy of two random endpoints: nearly as good as the least busy of all, and all proxies together do not
   * choose the same one. Those that failed recently are chosen last.
   */
  choose(tried: ReadonlySet<Endpoint>): Endpoint | undefined {
    const now = this.#deps.clock.now();
    const isSound = (endpoint: Endpoint | undefined): endpoint is Endpoint =>
      endpoint !== undefined && endpoint.pausedUntilMs <= now && !tried.has(endpoint);
    const found = this.#lessBusy(this.#list, isSound);
    if (found) return found;
    // Rare: only now all of them are looked at.
    const untried = this.#list.filter((endpoint) => !tried.has(endpoint));
    const sound = untried.filter(isSound);
    return this.#lessBusy(sound.length > 0 ? sound : untried, () => true);
  }

  #lessBusy(list: readonly Endpoint[], isFit: (endpoint: Endpoint | undefined) => boolean): Endpoint | undefined {
    const pick = (): Endpoint | undefined => list[Math.floor(this.#deps.random() * list.length)];
    const [one, other] = [pick(), pick()];
    if (!isFit(one)) return isFit(other) ? other : undefined;
    return one && other && isFit(other) && other.active < one.active ? other : one;
  }

  failed(endpoint: Endpoint): void {
    endpoint.pausedUntilMs = this.#deps.clock.now() + pauseMs;
  }
}

const maxIdleConnections = 32;
const idleMs = 30_000;

/** One address and port, with the connections to it. */
export class Endpoint {
  readonly address: string;
  readonly port: number;
  readonly agent: Agent;
  /** Requests in progress. */
  active = 0;
  pausedUntilMs = 0;
  #session: http2.ClientHttp2Session | undefined;
  #isRetired = false;

  constructor({ address, port }: EndpointPlan) {
    this.address = address;
    this.port = port;
    this.agent = new http.Agent({ keepAlive: true, maxFreeSockets: maxIdleConnections, timeout: idleMs });
  }

  /** The HTTP/2 connection that all requests share; a new one if there is none that still accepts requests. */
  session(): http2.ClientHttp2Session {
    const known = this.#session;
    if (known && !known.closed && !known.destroyed) return known;
    const session = http2.connect(`http://${hostInUrl(this.address)}:${this.port}`, {
      maxSessionMemory: 64,
      settings: { enablePush: false },
    });
    session.on("error", ignore);
    session.once("goaway", () => session.close());
    session.unref();
    this.#session = session;
    if (this.#isRetired) session.once("connect", () => session.close());
    return session;
  }

  /** Closes idle connections now, and the others as their requests end. */
  retire(): void {
    this.#isRetired = true;
    this.agent.maxFreeSockets = 0;
    for (const sockets of Object.values(this.agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
    this.#session?.close();
  }
}
