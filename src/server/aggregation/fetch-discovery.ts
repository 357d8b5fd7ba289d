import { createHash } from "node:crypto";
import { type Exchanged, exchangeBounded } from "#client/webhook/bounded-exchange.ts";
import { inSlices } from "#lib/async/turns.ts";
import { parseBoundedJson } from "#lib/text/bounded-json.ts";
import { describeFault } from "#server/extension/describe-fault.ts";
import { type OpenApiPart, type VersionDiscovery } from "../remote-routes.ts";
import { identityHeaders } from "./identity-headers.ts";
import { aggregatorUser, type ProbeDeps } from "./probe.ts";
import { DiscoveryError, readAggregated, readOpenApiHash, readPlain } from "./read-discovery.ts";
import { type RemoteApi } from "./remote-api.ts";

/** What a server said about a group and version, and how to ask whether that has changed. */
export interface Fetched {
  readonly discovery: VersionDiscovery;
  readonly etag: string | undefined;
}

const timeoutMs = 5000;
/** Parsing more would take too long, and describes more than a thousand resources. */
const maxBytes = 2 << 20;
/** A document of this size has about 85,000. */
const maxValues = 100_000;

/** Asks a server about its group and version. Throws if it does not answer within its limits, or not properly. */
export async function fetchDiscovery(api: RemoteApi, known: Fetched | undefined, deps: ProbeDeps): Promise<Fetched> {
  const { group, version } = api;
  const ifChanged: Record<string, string> = known?.etag ? { "if-none-match": known.etag } : {};
  const all = await get(api, "/apis", { ...deps, headers: { accept: aggregatedType, ...ifChanged } });
  if (all.status === 304 && known) return known;
  if (all.status === 503) throw new DiscoveryError("the server is unavailable");
  if (all.status === 200 && isAggregated(all.headers["content-type"])) {
    return { discovery: readAggregated(parsed(all), group, version), etag: all.headers.etag };
  }
  const plain = await get(api, api.path, { ...deps, headers: { accept: "application/json" } });
  if (plain.status !== 200) throw new DiscoveryError(`the server answered ${api.path} with status ${plain.status}`);
  return { discovery: readPlain(parsed(plain), group, version), etag: undefined };
}

/** The hash of the server's OpenAPI document of version 3; undefined if it has none. */
export async function fetchOpenApiHash(api: RemoteApi, deps: ProbeDeps): Promise<string | undefined> {
  const index = await get(api, "/openapi/v3", { ...deps, headers: { accept: "application/json" } });
  return index.status === 200 ? readOpenApiHash(parsed(index), api.path.slice(1)) : undefined;
}

/** What the server's OpenAPI document of version 2 says; undefined if it has none. */
export async function fetchOpenApiV2(
  api: RemoteApi,
  known: OpenApiPart | undefined,
  deps: ProbeDeps,
): Promise<OpenApiPart | undefined> {
  const ifChanged: Record<string, string> = known?.etag ? { "if-none-match": known.etag } : {};
  const answer = await get(api, "/openapi/v2", { ...deps, headers: { accept: "application/json", ...ifChanged } });
  if (answer.status === 304) return known;
  if (answer.status !== 200) return undefined;
  const digest = createHash("sha256").update(answer.body).digest("base64");
  if (digest === known?.digest) return known;
  const { selectV2 } = await import("#schema/openapi/select-v2.ts");
  const part = await inSlices(selectV2(parsed(answer), api));
  return { part, digest, etag: answer.headers.etag, bytes: answer.body.byteLength };
}

const aggregatedType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

function isAggregated(contentType = ""): boolean {
  const parts = contentType.split(";").map((part) => part.trim());
  return ["application/json", "g=apidiscovery.k8s.io", "v=v2", "as=APIGroupDiscoveryList"].every((part) =>
    parts.includes(part),
  );
}

interface Asking extends ProbeDeps {
  readonly headers: Readonly<Record<string, string>>;
}

/** A bounded request to an extension server, as the aggregator itself. */
export async function get(api: RemoteApi, path: string, { clock, signal, headers }: Asking): Promise<Exchanged> {
  const address = await api.address(path);
  const sent = { ...headers, host: address.authority, ...identityHeaders(aggregatorUser) };
  const wire = { method: "GET", path, headers: sent, body: undefined };
  try {
    const limits = { timeoutMs, maxBytes, clock, signal };
    return await api.connections.use(address, (transport) => exchangeBounded(transport, wire, limits));
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw new DiscoveryError(describeFault(error, address), { cause: error });
  }
}

export function parsed({ body }: Exchanged): unknown {
  try {
    return parseBoundedJson(body, maxValues);
  } catch (cause) {
    const what = cause instanceof RangeError ? `has ${cause.message}` : "is not JSON";
    throw new DiscoveryError(`the answer ${what}`, { cause });
  }
}
