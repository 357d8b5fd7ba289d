import net from "node:net";
import tls, { type ConnectionOptions } from "node:tls";
import { secureTransport } from "#client/transport/http1.ts";
import type { StreamTransport } from "#client/transport/wire.ts";
import { limitReads } from "#lib/net/limit-reads.ts";
import type { UntrustedConnection } from "#lib/net/upgrade.ts";
import { hostFault } from "./host-fault.ts";

/** Where a call goes. Built from checked parts, never from text. */
export interface Address {
  readonly host: string;
  readonly port: number;
  /** The name that the certificate must have; undefined for an address. */
  readonly serverName: string | undefined;
  /** What the server sees as its host, and what messages show. */
  readonly authority: string;
  readonly path: string;
}

/** Finds an endpoint of a service; throws if there is none. */
export type ResolveService = (
  service: { readonly namespace: string; readonly name: string; readonly port: number },
  turn: number,
) => Promise<{ readonly host: string; readonly port: number }>;

/** How a server proves who it is, and how we do. */
export interface Trust {
  /** Authorities of the server's certificate, in base64 of PEM; by default, the public ones. */
  readonly caBundle?: string | undefined;
  /** The certificate is not checked. */
  readonly isUnchecked?: boolean | undefined;
  /** Our certificate; by default, we show none. It may be renewed. */
  identity?(): ClientIdentity | undefined;
}

export interface ClientIdentity {
  readonly key: string;
  readonly cert: string;
}

export interface ConnectionLimits {
  /** How many calls run at the same time. More would only wait for a server that is too slow. */
  readonly calls: number;
  /** How many connections there may be to each server. */
  readonly sockets: number;
}

const usualLimits: ConnectionLimits = { calls: 200, sockets: 200 };
/** How many idle connections are kept to each server, and to how many of them. */
const maxIdle = 10;
const maxServers = 16;

interface Server {
  readonly transport: StreamTransport;
  readonly identity: ClientIdentity | undefined;
  calls: number;
  /** There is another one, with a newer certificate. */
  isReplaced: boolean;
}

interface Borrowed extends Disposable {
  readonly transport: StreamTransport;
}

/** The connections to the servers behind one webhook or one API service. */
export class Connections {
  readonly #servers = new Map<string, Server>();
  readonly #trust: Trust;
  readonly #ca: string | undefined;
  readonly #limits: ConnectionLimits;
  #calls = 0;
  #isRetired = false;

  constructor(trust: Trust, limits: ConnectionLimits = usualLimits) {
    this.#trust = trust;
    const ca = trust.caBundle ? Buffer.from(trust.caBundle, "base64").toString("latin1") : "";
    // As upstream, white space alone is no bundle.
    this.#ca = ca.trim() === "" ? undefined : ca;
    this.#limits = limits;
  }

  async use<R>(address: Address, call: (transport: StreamTransport) => Promise<R>): Promise<R> {
    using borrowed = this.borrow(address);
    return await call(borrowed.transport);
  }

  /** For a call whose end the caller knows: its connection stays open until it is disposed of. */
  borrow(address: Address): Borrowed {
    if (this.#calls >= this.#limits.calls)
      throw new Error(`${this.#limits.calls} calls are already waiting for its answer`);
    const server = this.#serverAt(address);
    this.#calls++;
    server.calls++;
    let isOver = false;
    const end = (): void => {
      if (isOver) return;
      isOver = true;
      this.#calls--;
      server.calls--;
      if (server.isReplaced && server.calls === 0) server.transport.close();
      if (this.#isRetired && this.#calls === 0) this.#closeIdle();
    };
    return { transport: server.transport, [Symbol.dispose]: end };
  }

  /** A separate connection, for a request that takes it over. */
  dial(address: Address): UntrustedConnection {
    const { host, port } = address;
    const raw = limitReads(net.connect({ host, port }));
    const { host: _host, port: _port, ...options } = this.#options(address, this.#trust.identity?.());
    try {
      return { socket: tls.connect({ ...options, socket: raw }), readWhole: () => raw.readWhole() };
    } catch (error) {
      // The authorities may be no certificates at all.
      raw.destroy();
      throw error;
    }
  }

  /** The calls that are running may end. */
  retire(): void {
    this.#isRetired = true;
    if (this.#calls === 0) this.#closeIdle();
  }

  #serverAt(address: Address): Server {
    const identity = this.#trust.identity?.();
    const key = `${address.host} ${address.port}`;
    const known = this.#servers.get(key);
    if (known && known.identity?.cert === identity?.cert) return known;
    if (known) replace(known);
    if (this.#servers.size >= maxServers) this.#closeIdle();
    const limits = { maxSockets: this.#limits.sockets, maxFreeSockets: maxIdle };
    const transport = secureTransport(this.#options(address, identity), limits);
    const server = { transport, identity, calls: 0, isReplaced: false };
    this.#servers.set(key, server);
    return server;
  }

  #options({ host, port, serverName }: Address, identity: ClientIdentity | undefined): ConnectionOptions {
    return {
      ...{ host, port, rejectUnauthorized: !this.#trust.isUnchecked },
      ...(this.#ca === undefined ? {} : { ca: this.#ca }),
      ...(serverName === undefined ? {} : { servername: serverName }),
      checkServerIdentity: (_, certificate) => hostFault(serverName ?? host, certificate),
      ...identity,
    };
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

function replace(server: Server): void {
  server.isReplaced = true;
  if (server.calls === 0) server.transport.close();
}
