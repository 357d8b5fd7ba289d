import { isIP } from "node:net";
import { secureTransport } from "#client/transport/http1.ts";
import { type Transport } from "#client/transport/wire.ts";
import { type Hook, type Webhook } from "./hook.ts";

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
  { clientConfig: { url, service } }: Webhook,
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

/** The connections to the servers of one webhook. */
class Connections {
  readonly #servers = new Map<string, Transport>();
  readonly #ca: string | undefined;
  #calls = 0;
  #isRetired = false;

  constructor({ clientConfig: { caBundle } }: Webhook) {
    this.#ca = caBundle ? Buffer.from(caBundle, "base64").toString("latin1") : undefined;
  }

  async use<R>(address: Address, call: (transport: Transport) => Promise<R>): Promise<R> {
    if (this.#calls >= maxCalls) throw new Error(`${maxCalls} calls are already waiting for its answer`);
    this.#calls++;
    try {
      return await call(this.#transportTo(address));
    } finally {
      this.#calls--;
      if (this.#isRetired && this.#calls === 0) this.#close();
    }
  }

  /** The calls that are running may end. */
  retire(): void {
    this.#isRetired = true;
    if (this.#calls === 0) this.#close();
  }

  #transportTo({ host, port, serverName }: Address): Transport {
    const key = `${host} ${port}`;
    const known = this.#servers.get(key);
    if (known) return known;
    // A service whose pods come and go has new addresses all the time. With no other call, none of them is in use.
    if (this.#servers.size >= maxServers && this.#calls === 1) this.#close();
    const options = {
      ...{ host, port, rejectUnauthorized: true },
      ...(this.#ca === undefined ? {} : { ca: this.#ca }),
      ...(serverName === undefined ? {} : { servername: serverName }),
    };
    const transport = secureTransport(options, { maxSockets: maxCalls, maxFreeSockets: maxIdle });
    this.#servers.set(key, transport);
    return transport;
  }

  #close(): void {
    for (const transport of this.#servers.values()) transport.close();
    this.#servers.clear();
  }
}

/** The connections of all webhooks, made when they are first called. */
export class WebhookConnections {
  readonly #byHook = new WeakMap<Hook, Connections>();

  of(hook: Hook): Pick<Connections, "use"> {
    let connections = this.#byHook.get(hook);
    if (!connections) {
      connections = new Connections(hook.webhook);
      this.#byHook.set(hook, connections);
    }
    return connections;
  }

  retire(hook: Hook): void {
    this.#byHook.get(hook)?.retire();
  }
}
