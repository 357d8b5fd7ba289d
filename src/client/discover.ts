import { defineResource, type Resource } from "#api/resource.ts";
import { type Client } from "./client.ts";

/** Upstream's aggregated discovery: all groups, versions and kinds in one answer. */
const accept = "application/json;v=v2;g=apidiscovery.k8s.io;as=APIGroupDiscoveryList";

interface Discovery {
  readonly items?: readonly {
    readonly metadata?: { readonly name?: string };
    readonly versions?: readonly { readonly version?: string; readonly resources?: readonly Discovered[] }[];
  }[];
}
interface Discovered {
  readonly resource?: string;
  readonly singularResource?: string;
  readonly shortNames?: readonly string[];
  readonly scope?: string;
  readonly responseKind?: { readonly kind?: string };
}

/** The kinds that the cluster serves in named groups, each group's preferred version first; none if it does not tell. */
export async function discoverResources(client: Pick<Client, "raw">): Promise<Resource[]> {
  const { status, body } = await client.raw("GET", "/apis", { headers: { accept } });
  if (status !== 200) return [];
  const { items = [] } = JSON.parse(Buffer.from(body).toString()) as Discovery;
  return items.flatMap(({ metadata, versions = [] }) =>
    versions.flatMap(({ version = "", resources = [] }) =>
      resources.map((found) => resourceOf(metadata?.name ?? "", version, found)),
    ),
  );
}

/** Enough of a Resource to read its objects. Nothing is known of their fields. */
function resourceOf(group: string, version: string, found: Discovered): Resource {
  const { resource: plural = "", singularResource = "", shortNames = [], scope, responseKind } = found;
  const kind = responseKind?.kind ?? "";
  return defineResource(
    `${group}/${version}.${kind}`,
    {},
    {
      doc: kind,
      plural,
      singular: singularResource || kind.toLowerCase(),
      shortNames,
      categories: [],
      scope: scope === "Namespaced" ? "Namespaced" : "Cluster",
    },
  );
}
