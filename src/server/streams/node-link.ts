import type { IncomingMessage } from "node:http";
import type { Agent as TlsAgent } from "node:https";
import { checkServerIdentity } from "node:tls";
import { Node } from "#api/core/node.ts";
import { StatusError } from "#api/status.ts";
import { hostInUrl } from "#lib/ip.ts";
import { LruMap } from "#lib/lru-map.ts";
import { messageOf } from "#lib/message-of.ts";
import { http, https } from "#lib/node-http.ts";
import { dialUpgrade, type UpgradeRequest, type UpgradeResult } from "#lib/upgrade.ts";
import { type Objects } from "../objects/objects.ts";

/** How the API server shows itself to the nodes, and whose word it takes for who they are. */
export interface NodeCredentials {
  readonly key: string;
  readonly cert: string;
  readonly ca: string;
}

/** Where the server of a node is, and how to connect to it. */
export interface NodeLink {
  readonly host: string;
  readonly port: number;
  readonly agent: TlsAgent;
}

/** The order in which a node's addresses are tried; the first type that it has is used. */
const addressTypes = ["InternalIP", "Hostname", "InternalDNS", "ExternalDNS", "ExternalIP"];
const defaultPort = 10250;
const maxAgents = 1000;

/** Finds the servers of nodes. Idle connections are kept for the next request. */
export class NodeLinks {
  readonly #objects: Objects;
  readonly #credentials: NodeCredentials;
  readonly #agents = new LruMap<string, TlsAgent>(maxAgents);

  constructor(objects: Objects, credentials: NodeCredentials) {
    this.#objects = objects;
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
    return { host, port, agent: this.#agent(name, options.insecure ?? false) };
  }

  #agent(node: string, insecure: boolean): TlsAgent {
    const key = `${node}/${insecure}`;
    let agent = this.#agents.get(key);
    if (!agent) {
      agent = new https.Agent({
        ...this.#credentials,
        keepAlive: true,
        maxFreeSockets: 4,
        rejectUnauthorized: !insecure,
        // Its certificate names the node, or else the address that it was reached at.
        checkServerIdentity: (host, certificate) =>
          certificate.subject.CN === `system:node:${node}` ? undefined : checkServerIdentity(host, certificate),
      });
      this.#agents.set(key, agent);
    }
    return agent;
  }
}

/** A request to a node or a pod. */
export interface Outgoing extends UpgradeRequest {
  readonly body?: Uint8Array | undefined;
  readonly signal: AbortSignal;
}

export function nodeUrl({ host, port }: NodeLink, path: readonly string[], query?: URLSearchParams): URL {
  const text = path.map(encodeURIComponent).join("/");
  return new URL(`https://${hostInUrl(host)}:${port}/${text}${query && query.size > 0 ? `?${query}` : ""}`);
}

/** Sends a request; the answer's body is the caller's to read, and ends when the signal fires. */
export function send({ url, method, headers, agent, body, signal }: Outgoing): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const { request } = url.protocol === "https:" ? https : http;
    const outgoing = request(url, { method, headers, signal, ...(agent ? { agent } : {}) });
    outgoing.once("response", (response) => {
      outgoing.on("error", () => response.destroy());
      resolve(response);
    });
    outgoing.once("error", reject);
    outgoing.end(body);
  });
}

/** The same for a connection that is to become something else. */
export async function dialNode(request: Omit<Outgoing, "body">): Promise<UpgradeResult> {
  try {
    return await dialUpgrade(request);
  } catch (cause) {
    throw unreachable(cause);
  }
}

export const unreachable = (cause: unknown): StatusError =>
  new StatusError("InternalError", `error dialing backend: ${messageOf(cause)}`, undefined, { cause });

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
