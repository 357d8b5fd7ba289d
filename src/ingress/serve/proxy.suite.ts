import type { IncomingMessage, RequestListener } from "node:http";
import http from "node:http";
import net, { type AddressInfo } from "node:net";
import { systemClock } from "#lib/async/clock.ts";
import { atOnce } from "#lib/async/turns.ts";
import { createAuthority, createCertificate } from "#lib/crypto/x509.ts";
import { seededRandom } from "#lib/data/random.ts";
import { silentLog } from "#lib/process/log.ts";
import { type ForwardAction, type Route } from "../routing/route.ts";
import { RouteTable } from "../routing/route-table.ts";
import { type TlsScope, TlsTable } from "../routing/tls-table.ts";
import { CertificateIndex, openPair } from "./certificates.ts";
import { type DataPlane, type DataPlaneOptions, openDataPlane } from "./data-plane.ts";

/** A real server that a test has as a backend. */
export interface TestBackend extends AsyncDisposable {
  readonly port: number;
  readonly requests: IncomingMessage[];
  readonly server: http.Server;
}

export async function openBackend(answer: RequestListener, host = "127.0.0.1"): Promise<TestBackend> {
  const requests: IncomingMessage[] = [];
  const server = http.createServer((request, response) => {
    requests.push(request);
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return {
    port: (server.address() as AddressInfo).port,
    requests,
    server,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export const echo: RequestListener = (request, response) => {
  const { method, url, headers } = request;
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ method, url, headers }));
};

/** A route for every request, to the backend of that key. */
export const routeTo = (key: string, change: Partial<ForwardAction> = {}, route: Partial<Route> = {}): Route => ({
  ...{ owner: `Ingress a/${key}`, host: "", path: { type: "prefix", value: "/" }, headers: [], query: [], rank: "1" },
  action: {
    ...{ type: "forward", backends: [{ key, weight: 1 }], mirrors: [], isGrpc: false },
    ...{ requestTimeoutMs: undefined, backendTimeoutMs: undefined },
    ...change,
  },
  ...route,
});

export interface TestProxy extends AsyncDisposable {
  readonly plane: DataPlane;
  readonly faults: string[];
  /** Serves these routes; each host of `secure` has a certificate. */
  serve(routes: readonly Route[], secure?: readonly string[], tls?: readonly TlsScope[]): void;
  backend(key: string, ...ports: readonly number[]): void;
}

const authority = createAuthority({ subject: { commonName: "test" }, notBeforeMs: 0, notAfterMs: 4e12 });
/** What clients of the proxy trust. */
export const { certificate: ca } = authority;
/** A certificate and its key, of that common name. */
export const certify = (host: string, commonName = host) =>
  createCertificate(authority, {
    ...{ subject: { commonName }, use: "server", hosts: [host] },
    ...{ notBeforeMs: 0, notAfterMs: 4e12 },
  });

export async function openProxy(change: Partial<DataPlaneOptions> = {}): Promise<TestProxy> {
  const faults: string[] = [];
  const plane = await openDataPlane({
    ...{ host: "127.0.0.1", httpPort: 0, httpsPort: 0 },
    ...{ clock: systemClock, random: seededRandom(1), log: silentLog },
    onFault: (_route, fault) => void faults.push(fault),
    ...change,
  });
  return {
    plane,
    faults,
    serve(routes, secure = [], tls = []) {
      const hosts = Map.groupBy(routes, ({ host }) => host);
      const scopes = Array.from(hosts, ([host, own]) => ({ host, wildcard: "one label" as const, routes: own }));
      const table = atOnce(RouteTable.build({ scopes, fallbacks: [] }));
      const ends = tls.flatMap((scope) => scope.routes).filter((route) => route.isTerminated);
      const http = secure.map((host) => ({ host, wildcard: "one label" as const }));
      const names = atOnce(TlsTable.build(tls, http));
      const certificates = [...secure, ...ends.map(({ host }) => host)].map((host) => {
        return { host, wildcard: "one label" as const, name: host, context: openPair(certify(host)) };
      });
      plane.serve({ http: table, https: table, certificates: new CertificateIndex(certificates), names });
    },
    backend(key, ...ports) {
      const endpoints = ports.map((port) => ({ address: "127.0.0.1", port }));
      plane.setBackend(key, { endpoints, isHttp2: false, fault: undefined });
    },
    [Symbol.asyncDispose]: () => plane[Symbol.asyncDispose](),
  };
}

export interface Answer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly text: string;
}

/** A plain request to the proxy. */
export function ask(port: number, options: http.RequestOptions & { readonly body?: string } = {}): Promise<Answer> {
  const { body, ...rest } = options;
  return new Promise((resolve, reject) => {
    const request = http.request({ host: "127.0.0.1", port, agent: false, ...rest }, async (response) => {
      try {
        const parts: Buffer[] = [];
        for await (const part of response) parts.push(part);
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text: Buffer.concat(parts).toString() });
      } catch (error) {
        reject(error);
      }
    });
    request.once("error", reject);
    request.end(body);
  });
}

/** Sends these bytes and returns everything that comes back until the connection ends, in whatever way. */
export function sendRaw(port: number, text: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = net.connect(port, "127.0.0.1", () => socket.write(text, "latin1"));
    let received = "";
    socket.on("data", (chunk) => {
      received += chunk.toString("latin1");
    });
    socket.on("error", () => undefined);
    socket.once("close", () => resolve(received));
  });
}
