import { isIP } from "node:net";
import { secureTransport } from "#client/transport/http1.ts";
import type { Transport } from "#client/transport/wire.ts";

/** Where a webhook is, as whoever configured it wrote it. Only one of URL and service is set. */
export interface Called {
  readonly clientConfig: {
    readonly url?: string | undefined;
    readonly service?:
      | {
          readonly namespace: string;
          readonly name: string;
          readonly port: number;
          readonly path?: string | undefined;
        }
      | undefined;
    /** Base64 of PEM certificates. */
    readonly caBundle?: string | undefined;
  };
}

/** Where a call goes. Built from checked parts, never from text. */
export interface Address {
  readonly host: string;
  readonly port: number;
  /** The name that the certificate must have; undefined for an address. */
  readonly serverName: string | undefined;
  /** What the webhook sees as its host, and what messages show. */
  readonly authority: string;
  readonly path: string;
}

/** Finds an endpoint of a service; throws if there is none. */
export type ResolveService = (
  service: { readonly namespace: string; readonly name: string; readonly port: number },
  turn: number,
) => Promise<{ readonly host: string; readonly port: number }>;

/** Where the webhook is now. */
export async function addressOf(
  { clientConfig: { url, service } }: Called,
  resolveService: ResolveService,
  turn: number,
): Promise<Address> {
  if (service) {
    const { namespace, name, port } = service;
    const serverName = `${name}.${namespace}.svc`;
    const path = new URL(`https://localhost/${(service.path ?? "").replace(/^\//, "")}`).pathname;
    return {
      ...(await resolveService({ namespace, name, port }, turn)),
      serverName,
      authority: `${serverName}:${port}`,
      path,
    };
  }
  const { hostname, port, host: authority, pathname: path } = new URL(url ?? "");
  const host = hostname.replace(/^\[|\]$/g, "");
  const serverName = isIP(host) ? undefined : host;
  return { host, port: Number(port || 443), serverName, authority, path };
}

/** How many calls of one webhook run at the same time. More would only wait for a webhook that is too slow. */
const maxCalls = 200;
/** How many idle connections are kept to each of its servers, and to how many of them. */
const maxIdle = 10;
const maxServers = 16;

interface Server {
  readonly transport: Transport;
  calls: number;
}

/** The connections to the servers of one webhook. */
class Connections {
  readonly #servers = new Map<string, Server>();
  readonly #ca: string | undefined;
  #calls = 0;
  #isRetired = false;

  constructor({ clientConfig: { caBundle } }: Called) {
    const ca = caBundle ? Buffer.from(caBundle, "base64").toString("latin1") : "";
    // As upstream, white space alone is no bundle.
    this.#ca = ca.trim() === "" ? undefined : ca;
  }

  async use<R>(address: Address, call: (transport: Transport) => Promise<R>): Promise<R> {
    if (this.#calls >= maxCalls) throw new Error(`${maxCalls} calls are already waiting for its answer`);
    const server = this.#serverAt(address);
    this.#calls++;
    server.calls++;
    try {
      return await call(server.transport);
    } finally {
      this.#calls--;
      server.calls--;
      if (this.#isRetired && this.#calls === 0) this.#closeIdle();
    }
  }

  /** The calls that are running may end. */
  retire(): void {
    this.#isRetired = true;
    if (this.#calls === 0) this.#closeIdle();
  }

  #serverAt({ host, port, serverName }: Address): Server {
    const key = `${host} ${port}`;
    const known = this.#servers.get(key);
    if (known) return known;
    if (this.#servers.size >= maxServers) this.#closeIdle();
    const options = {
      ...{ host, port, rejectUnauthorized: true },
      ...(this.#ca === undefined ? {} : { ca: this.#ca }),
      ...(serverName === undefined ? {} : { servername: serverName }),
    };
    const transport = secureTransport(options, { maxSockets: maxCalls, maxFreeSockets: maxIdle });
    const server = { transport, calls: 0 };
    this.#servers.set(key, server);
    return server;
  }

  /** A service whose pods come and go has new addresses all the time. */
  #closeIdle(): void {
    for (const [key, { transport, calls }] of this.#servers) {
      if (calls > 0) continue;
      transport.close();
      this.#servers.delete(key);
    }
  }
}

/** The connections of all webhooks, made when they are first called. A webhook whose configuration changes is another. */
export class WebhookConnections {
  readonly #byWebhook = new WeakMap<Called, Connections>();

  of(webhook: Called): Pick<Connections, "use" | "retire"> {
    let connections = this.#byWebhook.get(webhook);
    if (!connections) {
      connections = new Connections(webhook);
      this.#byWebhook.set(webhook, connections);
    }
    return connections;
  }

  /** Also for a webhook that was not called yet: a request that has seen it may still do so. */
  retire(webhook: Called): void {
    this.of(webhook).retire();
  }
}
