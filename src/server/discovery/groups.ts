import { createHash } from "node:crypto";
import { apiVersionOf, type Resource, type Subresource } from "#api/resource.ts";
import { type ResourceRegistry } from "../registry.ts";
import { type RemoteRoutes, type RemoteVersion } from "../remote-routes.ts";
import { type ApiOrder, type OrderedGroup } from "./api-order.ts";

/** The responses of `/api`, `/apis` and below, made from the served Resources. */
export interface Discovery {
  apiVersions(serverAddress: string): unknown;
  groupList(): unknown;
  group(name: string): unknown | undefined;
  resourceList(groupVersion: string): unknown | undefined;
  /** Everything in one document: `core` for `/api`, the rest for `/apis`. */
  aggregated(which: "core" | "groups"): { readonly body: Uint8Array; readonly etag: string };
}

export interface DiscoveryDeps {
  readonly resources: ResourceRegistry;
  readonly remote: RemoteRoutes;
  readonly order: ApiOrder;
}

/** Built again only after a change of what is served, or of its order. */
export function createDiscovery(deps: DiscoveryDeps): Discovery {
  const { resources, remote, order } = deps;
  const cached = new Map<string, { generation: string; value: unknown }>();
  const once = <V>(key: string, make: () => V): V => {
    const generation = `${resources.generation} ${remote.generation} ${order.generation}`;
    const known = cached.get(key);
    if (known?.generation === generation) return known.value as V;
    const value = make();
    // Misses are not cached: clients can ask for any number of them.
    if (value !== undefined) cached.set(key, { generation, value });
    return value;
  };
  return {
    apiVersions: (address) => ({
      kind: "APIVersions",
      versions: ["v1"],
      serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress: address }],
    }),
    groupList: () =>
      once("groups", () => ({ kind: "APIGroupList", apiVersion: "v1", groups: groupsOf(deps).map(groupValue) })),
    group: (name) =>
      once(`group ${name}`, () => {
        const found = groupsOf(deps).find((group) => group.name === name);
        return found && { kind: "APIGroup", apiVersion: "v1", ...groupValue(found) };
      }),
    resourceList: (groupVersion) => once(`list ${groupVersion}`, () => resourceList(resources, groupVersion)),
    aggregated: (which) => once(`aggregated ${which}`, () => aggregated(deps, which)),
  };
}

const groupsOf = ({ resources, remote, order }: DiscoveryDeps): OrderedGroup[] =>
  order.sorted([...resources.all(), ...remote.versions()].filter(({ group }) => group !== ""));

function groupValue({ name, versions }: OrderedGroup) {
  const all = versions.map((version) => ({ groupVersion: `${name}/${version}`, version }));
  return { name, versions: all, preferredVersion: all[0] };
}

function resourceList(resources: ResourceRegistry, groupVersion: string): unknown | undefined {
  const served = resources.ofGroupVersion(groupVersion);
  if (served.length === 0) return undefined;
  return {
    kind: "APIResourceList",
    // That of the core has none, as upstream's.
    ...(groupVersion.includes("/") ? { apiVersion: "v1" } : {}),
    groupVersion,
    resources: served.flatMap(resourceValues).sort((a, b) => (a.name < b.name ? -1 : 1)),
  };
}

function resourceValues(resource: Resource) {
  const { plural, singular, kind, scope, verbs, shortNames, categories } = resource;
  const namespaced = scope === "Namespaced";
  const own = {
    name: plural,
    singularName: singular,
    namespaced,
    kind,
    verbs,
    ...(shortNames.length > 0 ? { shortNames } : {}),
    ...(categories.length > 0 ? { categories } : {}),
    ...(verbs.includes("get") && !resource.isComputed ? { storageVersionHash: storageVersionHash(resource) } : {}),
  };
  const parts = resource.subresources.map(({ name, verbs: partVerbs, body }) => ({
    name: `${plural}/${name}`,
    singularName: "",
    namespaced,
    ...(body && apiVersionOf(body) !== apiVersionOf(resource) ? { group: body.group, version: body.version } : {}),
    kind: body?.kind ?? kind,
    verbs: partVerbs,
  }));
  return [own, ...parts];
}

/** Changes when the objects of a kind are stored in another version. */
function storageVersionHash({ storedAs, ...resource }: Resource): string {
  const stored = storedAs?.resource ?? resource;
  const text = `${stored.group}/${stored.version}/${stored.kind}`;
  return createHash("sha256").update(text).digest().subarray(0, 8).toString("base64");
}

function aggregated(deps: DiscoveryDeps, which: "core" | "groups"): { body: Uint8Array; etag: string } {
  const groups = which === "core" ? [{ name: "", versions: ["v1"] }] : groupsOf(deps);
  const others = deps.remote.versions();
  const value = {
    kind: "APIGroupDiscoveryList",
    apiVersion: "apidiscovery.k8s.io/v2",
    metadata: {},
    items: groups.map(({ name: group, versions }) => ({
      metadata: group ? { name: group } : {},
      versions: versions.map((version) => {
        const other = others.find((one) => one.group === group && one.version === version);
        return other ? remoteVersion(other) : ownVersion(deps, group, version);
      }),
    })),
  };
  const body = Buffer.from(JSON.stringify(value));
  return { body, etag: `"${fingerprint(body)}"` };
}

const ownVersion = ({ resources }: DiscoveryDeps, group: string, version: string) => ({
  version,
  resources: resources
    .ofGroupVersion(apiVersionOf({ group, version }))
    .map(discoveryOf)
    .sort((a, b) => (a.resource < b.resource ? -1 : 1)),
  freshness: "Current",
});

const remoteVersion = ({ version, resources, isStale }: RemoteVersion) => ({
  version,
  ...(resources.length > 0 ? { resources } : {}),
  freshness: isStale ? "Stale" : "Current",
});

function discoveryOf(resource: Resource) {
  const { plural, singular, kind, scope, verbs, shortNames, categories, subresources, isJsonOnly } = resource;
  // Upstream names group and version only of custom resources and of foreign bodies; empty, they are those of the list.
  const { group, version } = isJsonOnly ? resource : { group: "", version: "" };
  return {
    resource: plural,
    responseKind: { group, version, kind },
    scope: scope === "Namespaced" ? "Namespaced" : "Cluster",
    singularResource: singular,
    verbs,
    ...(shortNames.length > 0 ? { shortNames } : {}),
    ...(categories.length > 0 ? { categories } : {}),
    ...(subresources.length > 0
      ? {
          subresources: subresources.map(({ name, verbs: partVerbs, body }) => ({
            subresource: name,
            responseKind: bodyKind(resource, body) ?? { group, version, kind },
            verbs: partVerbs,
          })),
        }
      : {}),
  };
}

const bodyKind = (resource: Resource, body: Subresource["body"]): Subresource["body"] =>
  body && apiVersionOf(body) === apiVersionOf(resource) && !resource.isJsonOnly
    ? { group: "", version: "", kind: body.kind }
    : body;

/** FNV-1a: only distinguishes documents. */
export function fingerprint(bytes: Uint8Array): string {
  let hash = 0x811c9dc5;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, "0");
}
