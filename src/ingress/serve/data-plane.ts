import { type Clock } from "#lib/async/clock.ts";
import { type Random } from "#lib/data/random.ts";
import { type Log } from "#lib/process/log.ts";
import { type CorsRule, isPreflight, preflightHeaders, variesByOrigin } from "../routing/cors.ts";
import { type BackendPlan } from "../routing/plan-backend.ts";
import { type Route } from "../routing/route.ts";
import { RouteTable } from "../routing/route-table.ts";
import { type TlsTable } from "../routing/tls-table.ts";
import { Backends } from "./backends.ts";
import { type Call, readCall, refuse } from "./call.ts";
import { CertificateIndex } from "./certificates.ts";
import { type ForwardDeps, forward } from "./forward.ts";
import { changeHeaders, type Header, headerObject, sharedHeaders } from "./headers.ts";
import { mirror } from "./mirror.ts";
import { openPort, type Port } from "./port.ts";
import { Relay, type RelayedConnection } from "./relay.ts";
import { type RequestLimits } from "./request-limit.ts";
import { redirectLocation } from "./rewrite.ts";
import { forwardUpgrade, readUpgrade } from "./upgrade.ts";

export interface DataPlaneOptions {
  readonly host: string;
  readonly httpPort: number;
  readonly httpsPort: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** How many requests may be in progress at each port. */
  readonly requestLimits?: RequestLimits | undefined;
  /** Called for every request that the proxy had to answer itself, and every connection that it had to close, although there is a route. */
  onFault?(route: Pick<Route, "owner">, fault: string): void;
}

/** What is served at a port. */
export interface PortTables {
  readonly http: RouteTable;
  readonly https: RouteTable;
  readonly certificates: CertificateIndex;
  /** Undefined if TLS always ends here and carries HTTP. */
  readonly names: TlsTable | undefined;
}

/** The proxy itself. It knows routes, endpoints and certificates, and nothing of the objects that they come from. */
export interface DataPlane extends AsyncDisposable {
  readonly httpPort: number;
  readonly httpsPort: number;
  /** From the next request on. Those in progress and open connections are left alone. */
  serve(tables: PortTables): void;
  setBackend(key: string, plan: BackendPlan): void;
  deleteBackend(key: string): void;
}

export async function openDataPlane(options: DataPlaneOptions): Promise<DataPlane> {
  const backends = new Backends(options);
  const plane = new Plane(options, backends);
  await using opened = new AsyncDisposableStack();
  opened.defer(() => backends.close());
  const http = opened.use(await plane.open(options.httpPort, false));
  const https = opened.use(await plane.open(options.httpsPort, true));
  const held = opened.move();
  return {
    httpPort: http.port,
    httpsPort: https.port,
    serve: (tables) => plane.serve(tables),
    setBackend: (key, plan) => backends.set(key, plan),
    deleteBackend: (key) => backends.delete(key),
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

class Plane {
  readonly #options: DataPlaneOptions;
  readonly #deps: ForwardDeps;
  readonly #relay: Relay;
  #tables: PortTables = {
    http: new RouteTable(),
    https: new RouteTable(),
    certificates: new CertificateIndex([]),
    names: undefined,
  };

  constructor(options: DataPlaneOptions, backends: Backends) {
    this.#options = options;
    this.#deps = { ...options, backends };
    this.#relay = new Relay(this.#deps);
  }

  serve(tables: PortTables): void {
    this.#tables = tables;
  }

  async open(port: number, isSecure: boolean): Promise<Port> {
    const { host, clock, log, requestLimits } = this.#options;
    const opened: { port?: Port } = {};
    const number = () => opened.port?.port ?? port;
    opened.port = await openPort({
      ...{ host, port, isSecure, clock, log, requestLimits },
      certificates: () => this.#tables.certificates,
      names: () => this.#tables.names,
      onConnection: (connection) => this.#join(connection),
      onRequest: (request, response) => {
        const call = readCall(request, response, number());
        if ("status" in call) return refuse({ request, response }, call);
        this.#settle(call, this.#answer(call));
      },
      onUpgrade: (upgrade) => {
        const call = readUpgrade({ ...upgrade, port: number() });
        if (call) this.#settle(call, this.#answer(call, upgrade));
      },
    });
    return opened.port;
  }

  /** A bug fails one connection. */
  #join(connection: RelayedConnection): void {
    const { route, socket } = connection;
    this.#relay.run(connection).then(
      (fault) => fault !== undefined && this.#options.onFault?.(route, fault),
      (error: unknown) => {
        this.#options.log.error("the ingress could not pass a connection on", { error });
        socket.destroy();
      },
    );
  }

  /** A bug fails one request. */
  #settle(call: Call, answered: Promise<void>): void {
    answered.catch((error: unknown) => {
      this.#options.log.error("the ingress could not answer a request", { error });
      refuse(call, { status: 500, message: "the proxy failed" });
    });
  }

  async #answer(call: Call, upgrade?: Parameters<typeof readUpgrade>[0] | Upgraded): Promise<void> {
    const { http, https } = this.#tables;
    if (this.#isMisdirected(call)) {
      return refuse(call, { status: 421, message: "the connection was opened for another host" });
    }
    const route = (call.client.isSecure ? https : http).match(call.routed);
    if (!route) return refuse(call, { status: 404, message: "no route matches the request" });
    const { action } = route;
    if (action.type === "refuse") return refuse(call, action);
    if (action.cors && isPreflight(call.routed.method, call.routed.header)) return permit(call, action.cors);
    if (action.type === "redirect") return redirect(call, route);
    mirror(call, { route, action }, this.#deps);
    const fault = upgrade
      ? await forwardUpgrade(call, { route, action, ...upgrade }, this.#deps)
      : await forward(call, { route, action }, this.#deps);
    if (fault !== undefined) this.#options.onFault?.(route, fault);
  }

  /** Whether TLS was told another host than HTTP, and that one has another certificate or is not for HTTP. */
  #isMisdirected({ serverName, target }: Call): boolean {
    if (serverName === undefined || serverName.toLowerCase() === target.host) return false;
    const { certificates, names } = this.#tables;
    if (names && names.find(target.host) !== "http") return true;
    return certificates.find(serverName)?.name !== certificates.find(target.host)?.name;
  }
}

type Upgraded = Omit<Parameters<typeof readUpgrade>[0], "port">;

/** Answers a browser that asks what pages of other sites may send. */
function permit({ response, routed }: Call, cors: CorsRule): void {
  const headers = preflightHeaders(cors, routed.header).map(({ name, value }): Header => [name, value]);
  if (variesByOrigin(cors)) headers.push(["vary", "Origin"]);
  response.writeHead(204, headerObject(headers));
  response.end();
}

function redirect(call: Call, route: Route): void {
  const { action, path } = route;
  if (action.type !== "redirect") return;
  const location = redirectLocation(action, { ...call, match: path });
  const headers = changeHeaders(
    [
      ["location", location],
      ["content-length", "0"],
    ],
    action.change?.response,
  );
  call.response.writeHead(action.status, headerObject(sharedHeaders(headers, route, call.routed)));
  call.response.end();
}
