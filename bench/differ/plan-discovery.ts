import { allResources } from "#api/all.ts";
import { apiVersionOf } from "#api/resource.ts";
import { type Script, type Step } from "./step.ts";

const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/** What describes the API, and paths that are about no kind. */
export function planDiscovery(): readonly Script[] {
  const versions = new Set(
    allResources.map((one) => (one.group ? `/apis/${apiVersionOf(one)}` : `/api/${one.version}`)),
  );
  const groups = new Set(allResources.filter(({ group }) => group).map(({ group }) => `/apis/${group}`));
  const get = (path: string, accept?: string): Step => ({
    name: `${path} ${accept ?? ""}`,
    method: "GET",
    path,
    ...(accept ? { accept } : {}),
  });
  const odd = [
    "/apis/nope.example",
    "/apis/apps/v7",
    "/api/v7",
    "/nope",
    "/api/v1/nopes",
    "/apis/apps/v1/nopes",
    "/version",
  ];
  const health = [
    "/healthz",
    "/livez",
    "/readyz",
    "/healthz/ping",
    "/livez/etcd",
    "/readyz/nope",
    "/livez?exclude=nope",
  ];
  const documents = [...versions].map((path) => get(`/openapi/v3${path}`));
  const openApi = { name: "openapi", steps: [], readOnly: [get("/openapi/v3"), get("/openapi/v2"), ...documents] };
  const discovery: Script = {
    name: "discovery",
    steps: [],
    readOnly: [
      ...["/", "/api", "/apis", ...versions, ...groups, ...odd, ...health].map((path) => get(path)),
      get("/api", aggregated),
      get("/apis", aggregated),
      { name: "post to /api", method: "POST", path: "/api", body: {} },
      { name: "delete of /version", method: "DELETE", path: "/version" },
      { name: "head of pods", method: "HEAD", path: "/api/v1/pods" },
    ],
  };
  return [discovery, openApi];
}
