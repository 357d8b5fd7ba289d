import { methodNotAllowed } from "#api/status.ts";
import { type Metrics } from "#lib/metrics.ts";
import { negotiate } from "../negotiate.ts";
import { type Answer, type Context } from "../pipeline.ts";
import { type Discovery } from "./groups.ts";
import { type HealthCheck, renderHealth } from "./health.ts";
import { type OpenApi } from "./openapi.ts";
import { versionInfo } from "./version.ts";

export interface NonResourceDeps {
  readonly discovery: Discovery;
  readonly openApi: OpenApi;
  readonly metrics: Metrics;
  readonly live: readonly HealthCheck[];
  readonly ready: readonly HealthCheck[];
  /** Who may verify service-account tokens asks here for the keys. */
  tokenIssuer(): { readonly configuration: unknown; readonly keys: unknown };
  readonly serverAddress: string;
  /** More paths, such as the page and the trace, by their first segment. */
  readonly more: ReadonlyMap<string, (context: Context) => Answer | Promise<Answer> | undefined>;
}

/** Everything that is not a resource, by its path. */
export const answerNonResource =
  (deps: NonResourceDeps) =>
  (context: Context): Answer | undefined | Promise<Answer | undefined> => {
    const path = context.info.path.length > 1 ? context.info.path.replace(/\/$/, "") : context.info.path;
    const [, first = "", second, third, ...rest] = path.split("/");
    if (context.info.verb !== "get" && !deps.more.has(first)) throw methodNotAllowed("only GET is allowed here");
    if (rest.length === 0 || first === "openapi") {
      switch (first) {
        case "":
          return value({ paths: rootPaths });
        case "api":
          return second === undefined
            ? apiRoot(deps, context, "core")
            : third === undefined
              ? found(deps.discovery.resourceList(second))
              : undefined;
        case "apis":
          return apis(deps, context, { group: second, version: third });
        case "openapi":
          return path.startsWith("/openapi/v1/jwks") ? undefined : deps.openApi.answer(context, path);
        case "version":
          return second === undefined ? value(versionInfo) : undefined;
        case "metrics":
          return text(200, deps.metrics.render(), "text/plain; version=0.0.4; charset=utf-8");
      }
    }
    if (first === "livez" || first === "healthz")
      return health(context, { name: first, checks: deps.live, only: second });
    if (first === "readyz") return health(context, { name: first, checks: deps.ready, only: second });
    if (path === "/.well-known/openid-configuration") return value(deps.tokenIssuer().configuration);
    if (path === "/openid/v1/jwks") return value(deps.tokenIssuer().keys);
    return deps.more.get(first)?.(context);
  };

const rootPaths = [
  "/api",
  "/api/v1",
  "/apis",
  "/healthz",
  "/livez",
  "/metrics",
  "/openapi/v2",
  "/openapi/v3",
  "/readyz",
  "/version",
];

function apis(
  deps: NonResourceDeps,
  context: Context,
  { group, version }: { group: string | undefined; version: string | undefined },
) {
  if (group === undefined) return apiRoot(deps, context, "groups");
  if (version === undefined) return found(deps.discovery.group(group));
  return found(deps.discovery.resourceList(`${group}/${version}`));
}

function apiRoot(
  { discovery, serverAddress }: NonResourceDeps,
  { request }: Context,
  which: "core" | "groups",
): Answer {
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

/** The beta differs in its name only. */
const asVersion = (body: Uint8Array, version: string): Uint8Array =>
  version === "v2"
    ? body
    : Buffer.from(Buffer.from(body).toString().replace("apidiscovery.k8s.io/v2", `apidiscovery.k8s.io/${version}`));

function health(
  { query }: Context,
  { name, checks, only }: { name: string; checks: readonly HealthCheck[]; only: string | undefined },
): Answer | undefined {
  const chosen = only === undefined ? checks : checks.filter((check) => check.name === only);
  if (chosen.length === 0 && only !== undefined) return undefined;
  const options = { verbose: query.has("verbose"), exclude: query.getAll("exclude") };
  const { status, text: body } = renderHealth(name, chosen, options);
  return text(status, body, "text/plain; charset=utf-8");
}

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
