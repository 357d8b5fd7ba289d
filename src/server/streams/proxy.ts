import net from "node:net";
import type { Duplex } from "node:stream";
import tls from "node:tls";
import { badRequest, serviceUnavailable } from "#api/status.ts";
import { limitReads } from "#lib/net/limit-reads.ts";
import { originUrl } from "#lib/net/origin-url.ts";
import { isUpgrade, type UntrustedConnection } from "#lib/net/upgrade.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { hostOf, passedHeaders } from "#server/extension/passed-headers.ts";
import { type Answer, type Context } from "#server/request/pipeline.ts";
import { type Endpoint } from "../dispatch.ts";
import { type StreamDeps } from "./deps.ts";
import { backendFault, dialNode, type NodeLinks, nodeUrl, type Outgoing, send } from "./node-link.ts";
import { admitConnection } from "./pod-target.ts";
import { proxiedAnswer } from "./proxied-answer.ts";
import {
  isGlobalUnicast,
  type ProxyTarget,
  parseProxyName,
  podTarget,
  portNumber,
  serviceTarget,
} from "./proxy-target.ts";
import { passThrough, refusedUpgrade } from "./upgrades.ts";

/** A server that requests are passed on to. */
interface Backend extends Pick<Outgoing, "agent"> {
  readonly url: URL;
  /** Opens a separate connection for one request. */
  open?(): Promise<UntrustedConnection>;
}

/** A separate connection for each request, because a pod may be hostile. */
const toPod = ({ localNodes }: StreamDeps, target: ProxyTarget): Backend => ({
  url: originUrl(target),
  open: async () => {
    const { host, port } = target;
    return connectionTo(target, (await localNodes?.connectToPod(host, port)) ?? net.connect({ host, port }));
  },
});

/** Pods have self-made certificates, if any; upstream does not verify them either. */
function connectionTo({ scheme }: ProxyTarget, pod: Duplex): UntrustedConnection {
  const raw = limitReads(pod);
  const socket = scheme === "https" ? tls.connect({ socket: raw, rejectUnauthorized: false }) : raw;
  return { socket, readWhole: () => raw.readWhole() };
}

/** pods/NAME/proxy/… */
export const podProxyEndpoint = (deps: StreamDeps): Endpoint =>
  proxyEndpoint(deps, "PodProxyOptions", async (context) => toPod(deps, await podTarget(deps.objects, context)));

/** services/NAME/proxy/… */
export function serviceProxyEndpoint(deps: StreamDeps): Endpoint {
  let turn = 0;
  return proxyEndpoint(deps, "ServiceProxyOptions", async (context) =>
    toPod(deps, await serviceTarget(deps.objects, context, turn++)),
  );
}

/** nodes/NAME/proxy/…: the node's own server, or another port of the node. */
export const nodeProxyEndpoint = (deps: StreamDeps, links: NodeLinks): Endpoint =>
  proxyEndpoint(deps, "NodeProxyOptions", async ({ info }) => {
    const { scheme, name, port } = parseProxyName("node", info.name);
    const link = await links.find(name);
    if (port === "" || port === link.port) return { url: nodeUrl(link, []), agent: link.agent };
    if (!isGlobalUnicast(link.host)) throw badRequest("address not allowed");
    return toPod(deps, { scheme, host: link.host, port: portNumber(port) });
  });

const proxyEndpoint =
  (deps: StreamDeps, kind: string, find: (context: Context) => Promise<Backend>): Endpoint =>
  async (context, resource) => {
    const { prefix, rest } = splitPath(context);
    await admitConnection(deps.admission, context, { resource, options: { kind, path: rest } });
    const backend = await find(context);
    const { request } = context;
    const url = new URL(backend.url);
    url.pathname = rest || "/";
    url.search = request.query;
    if (isUpgrade(request.headers) && !request.body?.length) return await upgraded(deps, context, { ...backend, url });
    if (rest === "" && (request.method === "GET" || request.method === "HEAD")) return withSlash(context);
    return await forward(context, { ...backend, url }, prefix);
  };

/** The path up to and including `proxy`, and the rest, both as they were sent. */
function splitPath({ request, info }: Context): { prefix: string; rest: string } {
  const parts = request.path.split("/");
  const at = info.namespace ? 8 : 6;
  const rest = parts.slice(at);
  return { prefix: parts.slice(0, at).join("/"), rest: rest.length > 0 ? `/${rest.join("/")}` : "" };
}

/** Without the slash, the links of the page would be relative to the wrong path. */
function withSlash({ request }: Context): Answer {
  const location = `${request.path}/${request.query ? `?${request.query}` : ""}`;
  const headers = { location };
  return { type: "bytes", status: 301, contentType: "text/plain", body: new Uint8Array(), headers };
}

function notReached(cause: unknown): never {
  throw serviceUnavailable(`error trying to reach service: ${messageOf(cause)}`, backendFault(cause));
}

async function opened({ open, ...backend }: Backend): Promise<Pick<Outgoing, "url" | "agent" | "connect">> {
  const connection = await open?.().catch(notReached);
  return connection ? { ...backend, connect: () => connection } : backend;
}

async function upgraded(deps: StreamDeps, context: Context, backend: Backend): Promise<Answer> {
  const { method, headers, signal } = context.request;
  const { connection = "Upgrade", upgrade = "" } = headers;
  const sent = { ...passedHeaders(context), host: hostOf(context), connection, upgrade };
  const result = await dialNode({ ...(await opened(backend)), method, headers: sent, signal });
  return result.type === "refused" ? refusedUpgrade(result.response) : passThrough(result, deps.clock);
}

async function forward(context: Context, backend: Backend, prefix: string): Promise<Answer> {
  const { url } = backend;
  const { method, body, signal } = context.request;
  const headers = { ...passedHeaders(context), host: hostOf(context), "x-forwarded-uri": prefix + url.pathname };
  const response = await send({ ...(await opened(backend)), method, headers, body, signal }).catch(notReached);
  const rewrite = { prefix, backendHost: url.host, requestHost: hostOf(context) };
  return await proxiedAnswer(response, rewrite);
}
