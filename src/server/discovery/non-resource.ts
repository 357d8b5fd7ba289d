import { methodNotAllowed } from "#api/status.ts";
import { type Metrics } from "#lib/process/metrics.ts";
import { negotiate } from "#server/http/negotiate.ts";
import { type RemoteRoutes } from "#server/remote-routes.ts";
import { type Answer, type Context } from "#server/request/pipeline.ts";
import { type Discovery } from "./groups.ts";
import { type Health, type HealthEndpoint, renderCheck, renderHealth } from "./health.ts";
import { type OpenApi } from "./openapi.ts";
import { versionInfo } from "./version.ts";

export interface NonResourceDeps {
  readonly discovery: Discovery;
  readonly openApi: OpenApi;
  /** What other servers say about their groups. */
  readonly remote: Pick<RemoteRoutes, "path">;
  readonly metrics: Metrics;
  readonly health: Health;
  /** The configuration and keys for verifying service-account tokens elsewhere. */
  tokenIssuer(): { readonly configuration: unknown; readonly keys: unknown };
  readonly serverAddress: string;
  /** Additional paths, such as the page and the trace, by their first segment. */
  readonly more: ReadonlyMap<string, (context: Context) => Answer | Promise<Answer> | undefined>;
}

type Found = Answer | undefined | Promise<Answer | undefined>;

interface Asked {
  readonly deps: NonResourceDeps;
  readonly context: Context;
  /** Without a trailing slash. */
  readonly path: string;
}

/** Serves everything that is not a resource, by its path. */
export const answerNonResource =
  (deps: NonResourceDeps) =>
  (context: Context): Found => {
    const { verb, path: asked } = context.info;
    const path = asked.length > 1 ? asked.replace(/\/$/, "") : asked;
    const [, first = "", ...rest] = path.split("/");
    const more = deps.more.get(first);
    if (verb !== "get" && !more) throw methodNotAllowed();
    if (more) return more(context);
    const answer = routes.get(first)?.({ deps, context, path }, ...rest);
    const otherwise = () => deps.remote.path(context) ?? noSuchPage(deps, first, rest);
    return answer instanceof Promise ? answer.then((found) => found ?? otherwise()) : (answer ?? otherwise());
  };

/** Below a served group, the dispatcher says that there is no such resource. Everywhere else upstream has no such page. */
function noSuchPage(
  { discovery }: NonResourceDeps,
  first: string,
  [group = ""]: readonly string[],
): Answer | undefined {
  if (first === "api" || (first === "apis" && discovery.group(group) !== undefined)) return undefined;
  return text(404, "404 page not found\n", "text/plain; charset=utf-8");
}

/** By the first segment of the path; the handlers get the others. */
const routes = new Map<string, (asked: Asked, ...rest: readonly string[]) => Found>([
  ["", () => value({ paths: rootPaths })],
  ["api", answerApi],
  ["apis", answerApis],
  ["openapi", ({ deps, context, path }) => deps.openApi.answer(context, path)],
  ["version", (_asked, ...rest) => (rest.length === 0 ? value(versionInfo) : undefined)],
  ["metrics", ({ deps }, ...rest) => (rest.length === 0 ? text(200, deps.metrics.render(), metricsType) : undefined)],
  ["healthz", (asked, ...rest) => answerHealth(asked, "healthz", rest.join("/"))],
  ["livez", (asked, ...rest) => answerHealth(asked, "livez", rest.join("/"))],
  ["readyz", (asked, ...rest) => answerHealth(asked, "readyz", rest.join("/"))],
  [
    ".well-known",
    ({ deps, path }) => (path === configPath ? issuerDocument(deps.tokenIssuer().configuration, "json") : undefined),
  ],
  [
    "openid",
    ({ deps, path }) => (path === keysPath ? issuerDocument(deps.tokenIssuer().keys, "jwk-set+json") : undefined),
  ],
]);

const metricsType = "text/plain; version=0.0.4; charset=utf-8";
const configPath = "/.well-known/openid-configuration";
const keysPath = "/openid/v1/jwks";

const rootPaths = [
  configPath,
  "/api",
  "/api/v1",
  "/apis",
  "/healthz",
  "/livez",
  "/metrics",
  "/openapi/v2",
  "/openapi/v3",
  keysPath,
  "/readyz",
  "/version",
];

function answerApi(asked: Asked, version?: string, ...rest: readonly string[]): Answer | undefined {
  if (version === undefined) return apiRoot(asked, "core");
  return rest.length === 0 ? found(asked.deps.discovery.resourceList(version)) : undefined;
}

function answerApis(asked: Asked, group?: string, version?: string, ...rest: readonly string[]): Answer | undefined {
  const { discovery } = asked.deps;
  if (group === undefined) return apiRoot(asked, "groups");
  if (version === undefined) return found(discovery.group(group));
  return rest.length === 0 ? found(discovery.resourceList(`${group}/${version}`)) : undefined;
}

function apiRoot({ deps, context }: Asked, which: "core" | "groups"): Answer {
  const { discovery, serverAddress } = deps;
  const { request } = context;
  const { discovery: version } = negotiate(request.headers.accept);
  if (version !== "v2" && version !== "v2beta1") {
    return value(which === "core" ? discovery.apiVersions(serverAddress) : discovery.groupList());
  }
  const { body, etag } = discovery.aggregated(which);
  const contentType = `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;
  const headers = { etag, vary: "Accept" };
  if (request.headers["if-none-match"] === etag)
    return { type: "bytes", status: 304, contentType, body: new Uint8Array(), headers };
  return { type: "bytes", status: 200, contentType, body: asVersion(body, version), headers };
}

/** The beta differs only in its name. */
const asVersion = (body: Uint8Array, version: string): Uint8Array =>
  version === "v2"
    ? body
    : Buffer.from(Buffer.from(body).toString().replace("apidiscovery.k8s.io/v2", `apidiscovery.k8s.io/${version}`));

/** All checks of an endpoint, or the one that the path names. */
async function answerHealth(
  { deps, context: { query } }: Asked,
  endpoint: HealthEndpoint,
  only: string,
): Promise<Answer | undefined> {
  const checks = deps.health.checksOf(endpoint);
  const one = checks.find(({ name }) => name === only);
  if (only !== "" && !one) return undefined;
  const options = { verbose: query.has("verbose"), exclude: query.getAll("exclude") };
  const { status, text: body } = await (one ? renderCheck(one) : renderHealth(endpoint, checks, options));
  return text(status, body, "text/plain; charset=utf-8");
}

/** Servers that verify tokens may keep it for an hour. */
const issuerDocument = (content: unknown, type: string): Answer => ({
  type: "bytes",
  status: 200,
  contentType: `application/${type}`,
  body: Buffer.from(JSON.stringify(content)),
  headers: { "cache-control": "public, max-age=3600" },
});

const value = (content: unknown): Answer => ({ type: "value", status: 200, value: content });
const found = (content: unknown | undefined): Answer | undefined =>
  content === undefined ? undefined : value(content);
const text = (status: number, body: string, contentType: string): Answer => ({
  type: "bytes",
  status,
  contentType,
  body: Buffer.from(body),
  headers: { "x-content-type-options": "nosniff" },
});
