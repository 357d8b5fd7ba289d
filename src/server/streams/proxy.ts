import type { Agent, IncomingMessage, OutgoingHttpHeaders } from "node:http";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { badRequest, internalError, serviceUnavailable } from "#api/status.ts";
import { messageOf } from "#lib/message-of.ts";
import { http, https } from "#lib/node-http.ts";
import { isUpgrade } from "#lib/upgrade.ts";
import { type Endpoint } from "../dispatch.ts";
import { type Answer, type Context } from "../pipeline.ts";
import { type StreamDeps } from "./deps.ts";
import { dialNode, type NodeLinks, nodeUrl, send } from "./node-link.ts";
import { admitConnection } from "./pod-target.ts";
import { addressUrl, isGlobalUnicast, parseProxyName, podTarget, serviceTarget } from "./proxy-target.ts";
import { type LinkRewrite, rewriteLink, rewritePage } from "./rewrite-links.ts";
import { passThrough, refusedUpgrade } from "./upgrades.ts";

/** A server that requests are passed on to. */
interface Backend {
  readonly url: URL;
  readonly agent: Agent;
}

/** Pods have certificates of their own making, if any: upstream does not check them either. */
const plainAgent = new http.Agent({ keepAlive: true, maxFreeSockets: 16 });
const secureAgent = new https.Agent({ keepAlive: true, maxFreeSockets: 16, rejectUnauthorized: false });
const toPod = (url: URL): Backend => ({ url, agent: url.protocol === "https:" ? secureAgent : plainAgent });

/** pods/NAME/proxy/… */
export const podProxyEndpoint = (deps: StreamDeps): Endpoint =>
  proxyEndpoint(deps, "PodProxyOptions", async (context) => toPod(await podTarget(deps.objects, context)));

/** services/NAME/proxy/… */
export function serviceProxyEndpoint(deps: StreamDeps): Endpoint {
  let turn = 0;
  return proxyEndpoint(deps, "ServiceProxyOptions", async (context) =>
    toPod(await serviceTarget(deps.objects, context, turn++)),
  );
}

/** nodes/NAME/proxy/…: the node's own server, or another port of the node. */
export const nodeProxyEndpoint = (deps: StreamDeps, links: NodeLinks): Endpoint =>
  proxyEndpoint(deps, "NodeProxyOptions", async ({ info }) => {
    const { scheme, name, port } = parseProxyName("node", info.name);
    const link = await links.find(name);
    if (!port || port === String(link.port)) return { url: nodeUrl(link, []), agent: link.agent };
    if (!isGlobalUnicast(link.host)) throw badRequest("address not allowed");
    return toPod(addressUrl(scheme, link.host, port));
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
    if (isUpgrade(request.headers)) return await upgraded(deps, context, { ...backend, url });
    if (rest === "" && (request.method === "GET" || request.method === "HEAD")) return withSlash(context);
    return await forward(context, { ...backend, url }, prefix);
  };

/** The path up to and with `proxy`, and what is behind it, both as they were sent. */
function splitPath({ request, info }: Context): { prefix: string; rest: string } {
  const parts = request.path.split("/");
  const at = info.namespace ? 8 : 6;
  const rest = parts.slice(at);
  return { prefix: parts.slice(0, at).join("/"), rest: rest.length > 0 ? `/${rest.join("/")}` : "" };
}

/** Without the slash, the links of the page would be relative to the wrong place. */
function withSlash({ request }: Context): Answer {
  const location = `${request.path}/${request.query ? `?${request.query}` : ""}`;
  const headers = { location };
  return { type: "bytes", status: 301, contentType: "text/plain", body: new Uint8Array(), headers };
}

async function upgraded(deps: StreamDeps, context: Context, { url, agent }: Backend): Promise<Answer> {
  const { method, headers, signal } = context.request;
  const { connection = "Upgrade", upgrade = "" } = headers;
  const sent = { ...passedHeaders(context), connection, upgrade };
  const result = await dialNode({ url, method, headers: sent, agent, signal });
  return result.type === "refused" ? refusedUpgrade(result.response) : passThrough(result, deps.clock);
}

async function forward(context: Context, { url, agent }: Backend, prefix: string): Promise<Answer> {
  const { method, body, signal } = context.request;
  const headers = { ...passedHeaders(context), "x-forwarded-uri": prefix + url.pathname };
  const response = await send({ url, method, headers, agent, body, signal }).catch((cause: unknown) => {
    throw serviceUnavailable(`error trying to reach service: ${messageOf(cause)}`, { cause });
  });
  const rewrite = { prefix, backendHost: url.host, requestHost: hostOf(context) };
  return await answerOf(response, rewrite);
}

const hostOf = ({ request: { headers } }: Context): string => headers.host ?? headers[":authority"] ?? "";

const hopByHop = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
/** Who the client is, is for this server only; the body's length and coding are its own by now. */
const ownHeaders = /^(:.*|authorization|x-remote-.*|impersonate-.*|content-length|content-encoding|host)$/;

function passedHeaders(context: Context): OutgoingHttpHeaders {
  const { headers, peer } = context.request;
  const named = (headers.connection ?? "").split(",").map((name) => name.trim().toLowerCase());
  const result: OutgoingHttpHeaders = { host: hostOf(context) };
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !hopByHop.has(name) && !named.includes(name) && !ownHeaders.test(name)) {
      result[name] = value;
    }
  }
  const forwardedFor = headers["x-forwarded-for"];
  result["x-forwarded-for"] = forwardedFor ? `${forwardedFor}, ${peer.address}` : peer.address;
  return result;
}

async function answerOf(response: IncomingMessage, rewrite: LinkRewrite): Promise<Answer> {
  const headers: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(response.headers)) {
    if (value !== undefined && !hopByHop.has(name) && name !== "content-type") headers[name] = value;
  }
  const status = response.statusCode ?? 502;
  const contentType = response.headers["content-type"] ?? "application/octet-stream";
  const { location } = response.headers;
  if (location) headers.location = rewriteLink(location, rewrite);
  const isPage = !location && contentType.split(";")[0]?.trim() === "text/html";
  const coding = response.headers["content-encoding"];
  if (!isPage || (coding && coding !== "gzip")) return { type: "stream", status, contentType, body: response, headers };
  const { "content-length": _length, "content-encoding": _coding, ...others } = headers;
  const body = Buffer.from(rewritePage(await readPage(response, coding), rewrite));
  return { type: "bytes", status, contentType, body, headers: others };
}

const unzip = promisify(gunzip);
const maxPageBytes = 32 << 20;

async function readPage(response: IncomingMessage, coding: string | undefined): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > maxPageBytes) throw internalError(new Error(`a page has more than ${maxPageBytes} bytes`));
  }
  const whole = Buffer.concat(chunks, size);
  const page = coding && size > 0 ? await unzip(whole, { maxOutputLength: maxPageBytes }) : whole;
  return page.toString();
}
