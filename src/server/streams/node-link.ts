import type { Agent, IncomingMessage } from "node:http";
import type { Agent as TlsAgent } from "node:https";
import type { Duplex } from "node:stream";
import { Node } from "#api/core/node.ts";
import { BackendError, StatusError } from "#api/status.ts";
import { LruMap } from "#lib/data/lru-map.ts";
import { https } from "#lib/net/node-http.ts";
import { originUrl } from "#lib/net/origin-url.ts";
import { dialUpgrade, openRequest, type UpgradeRequest, type UpgradeResult } from "#lib/net/upgrade.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { type Objects } from "#server/objects/objects.ts";

/** How the API server authenticates to nodes, and the authority that verifies them. */
export interface NodeCredentials {
  readonly key: string;
  readonly cert: string;
  readonly ca: string;
}

/** The address of a node's server, and how to connect to it. */
export interface NodeLink {
  readonly host: string;
  readonly port: number;
  readonly agent: Agent;
  /** The node runs in this process, and the agent is its only way in. */
  readonly isLocal?: boolean;
}

/** Nodes that run in this process. They have no network: their addresses exist only as text. */
export interface LocalNodes {
  /** Undefined for any other node. */
  agentOf(node: string): Promise<Agent> | undefined;
  /** A connection to a port of a pod on one of these nodes; undefined for any other address. */
  connectToPod(ip: string, port: number): Promise<Duplex> | undefined;
}

/** The order in which a node's addresses are tried; the first type that it has is used. */
const addressTypes = ["InternalIP", "Hostname", "InternalDNS", "ExternalDNS", "ExternalIP"];
const defaultPort = 10250;
const maxAgents = 1000;

/** Finds the servers of nodes. Idle connections are kept for the next request. */
export class NodeLinks {
  readonly #objects: Objects;
  readonly #credentials: () => NodeCredentials;
  readonly #agents = new LruMap<string, AgentOf>(maxAgents);

  readonly #local: LocalNodes | undefined;

  constructor(objects: Objects, credentials: () => NodeCredentials, local?: LocalNodes) {
    this.#objects = objects;
    this.#local = local;
    this.#credentials = credentials;
  }

  async find(name: string, options: { readonly insecure?: boolean } = {}): Promise<NodeLink> {
    const { object: node } = await this.#objects.get(Node, "", name);
    const addresses = node.status.addresses ?? [];
    const type = addressTypes.find((wanted) => addresses.some((address) => address.type === wanted));
    const host = addresses.find((address) => address.type === type)?.address;
    if (!host) {
      const known = addresses.map(({ type, address }) => `{${type} ${address}}`).join(" ");
      throw new StatusError("InternalError", `no preferred addresses found; known addresses: [${known}]`);
    }
    const port = node.status.daemonEndpoints.kubeletEndpoint.Port || defaultPort;
    const local = await this.#local?.agentOf(name);
    if (local) return { host, port, agent: local, isLocal: true };
    return { host, port, agent: this.#agent(name, options.insecure ?? false) };
  }

  #agent(node: string, insecure: boolean): TlsAgent {
    const name = `${node}/${insecure}`;
    const known = this.#agents.get(name);
    const credentials = this.#credentials();
    // The nodes close the idle connections of an agent that is dropped here.
    if (known?.cert === credentials.cert) return known.agent;
    const agent = new https.Agent({
      ...credentials,
      keepAlive: true,
      maxFreeSockets: 4,
      rejectUnauthorized: !insecure,
      checkServerIdentity: (_, certificate) => identityFault(node, certificate.subject.CN),
    });
    this.#agents.set(name, { cert: credentials.cert, agent });
    return agent;
  }
}

/** The connections to a node with one certificate. */
interface AgentOf {
  readonly cert: string;
  readonly agent: TlsAgent;
}

/**
 * The certificate must name the node. One for the address that the node reports is not enough: that address may belong
 * to another machine, for example to this server.
 */
function identityFault(node: string, commonName: string | string[] | undefined): Error | undefined {
  const wanted = `system:node:${node}`;
  if (commonName === wanted) return undefined;
  return new Error(`the certificate is for ${JSON.stringify(commonName ?? "")}, not for ${JSON.stringify(wanted)}`);
}

/** A request to a node or a pod. */
export interface Outgoing extends UpgradeRequest {
  readonly body?: Uint8Array | undefined;
  readonly signal: AbortSignal;
}

export function nodeUrl({ host, port, isLocal }: NodeLink, path: readonly string[], query?: URLSearchParams): URL {
  const url = originUrl({ scheme: isLocal ? "http" : "https", host, port });
  url.pathname = path.map(encodeURIComponent).join("/");
  if (query) url.search = query.toString();
  return url;
}

/** Sends a request. The caller reads the response body, which ends when the signal fires. */
export function send({ body, ...request }: Outgoing): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const outgoing = openRequest(request);
    outgoing.once("response", (response) => {
      outgoing.on("error", () => response.destroy());
      resolve(response);
    });
    outgoing.once("error", reject);
    outgoing.end(body);
  });
}

/** The same for an upgrade. */
export async function dialNode(request: Omit<Outgoing, "body">): Promise<UpgradeResult> {
  try {
    return await dialUpgrade(request);
  } catch (cause) {
    throw unreachable(cause);
  }
}

/** Why a pod or a node did not answer. It is no fault of this server. */
export const unreachable = (cause: unknown): StatusError =>
  new StatusError("InternalError", `error dialing backend: ${messageOf(cause)}`, undefined, backendFault(cause));

export const backendFault = (cause: unknown): ErrorOptions => ({
  cause: new BackendError(messageOf(cause), { cause }),
});

const maxErrorBytes = 50_000;

export async function readText(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response) {
    chunks.push(chunk);
    size += chunk.length;
    if (size >= maxErrorBytes) break;
  }
  return Buffer.concat(chunks).subarray(0, maxErrorBytes).toString();
}
