import { createHash } from "node:crypto";
import { compareVersions } from "#api/compare-versions.ts";
import { apiVersionOf, type Resource, type Subresource } from "#api/resource.ts";
import { type ResourceRegistry } from "../registry.ts";

/** The responses of `/api`, `/apis` and below, made from the served Resources. */
export interface Discovery {
  apiVersions(serverAddress: string): unknown;
  groupList(): unknown;
  group(name: string): unknown | undefined;
  resourceList(groupVersion: string): unknown | undefined;
  /** Everything in one document: `core` for `/api`, the rest for `/apis`. */
  aggregated(which: "core" | "groups"): { readonly body: Uint8Array; readonly etag: string };
}

/** Built again only when a Resource was added or removed. */
export function createDiscovery(resources: ResourceRegistry): Discovery {
  const cached = new Map<string, { generation: number; value: unknown }>();
  const once = <V>(key: string, make: () => V): V => {
    const known = cached.get(key);
    if (known?.generation === resources.generation) return known.value as V;
    const value = make();
    // Misses are not cached: clients can ask for any number of them.
    if (value !== undefined) cached.set(key, { generation: resources.generation, value });
    return value;
  };
  return {
    apiVersions: (address) => ({
      kind: "APIVersions",
      versions: ["v1"],
      serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress: address }],
    }),
    groupList: () =>
      once("groups", () => ({ kind: "APIGroupList", apiVersion: "v1", groups: groupsOf(resources).map(groupValue) })),
    group: (name) =>
      once(`group ${name}`, () => {
        const found = groupsOf(resources).find((group) => group.name === name);
        return found && { kind: "APIGroup", apiVersion: "v1", ...groupValue(found) };
      }),
    resourceList: (groupVersion) => once(`list ${groupVersion}`, () => resourceList(resources, groupVersion)),
    aggregated: (which) => once(`aggregated ${which}`, () => aggregated(resources, which)),
  };
}

interface Group {
  readonly name: string;
  readonly versions: readonly string[];
}

function groupsOf(resources: ResourceRegistry): Group[] {
  const versions = new Map<string, Set<string>>();
  for (const { group, version } of resources.all()) {
    if (!group) continue;
    const known = versions.get(group);
    if (known) known.add(version);
    else versions.set(group, new Set([version]));
  }
  const groups = [...versions].map(([name, found]) => ({
    name,
    versions: [...found].sort((a, b) => compareVersions(b, a)),
  }));
  return groups.sort((a, b) => rankOf(a.name) - rankOf(b.name) || (a.name < b.name ? -1 : 1));
}

/** Upstream's order of its groups, in which clients look for a resource by its short name. Others come after them. */
const groupOrder = [
  "apiregistration.k8s.io",
  "apps",
  "events.k8s.io",
  "authentication.k8s.io",
  "authorization.k8s.io",
  "autoscaling",
  "batch",
  "certificates.k8s.io",
  "networking.k8s.io",
  "policy",
  "rbac.authorization.k8s.io",
  "storage.k8s.io",
  "admissionregistration.k8s.io",
  "apiextensions.k8s.io",
  "scheduling.k8s.io",
  "coordination.k8s.io",
  "node.k8s.io",
  "discovery.k8s.io",
  "resource.k8s.io",
  "flowcontrol.apiserver.k8s.io",
];
const rankOf = (group: string): number => (groupOrder.indexOf(group) + groupOrder.length + 1) % (groupOrder.length + 1);

function groupValue({ name, versions }: Group) {
  const all = versions.map((version) => ({ groupVersion: `${name}/${version}`, version }));
  return { name, versions: all, preferredVersion: all[0] };
}

function resourceList(resources: ResourceRegistry, groupVersion: string): unknown | undefined {
  const served = resources.ofGroupVersion(groupVersion);
  if (served.length === 0) return undefined;
  return {
    kind: "APIResourceList",
    apiVersion: "v1",
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
    ...(verbs.includes("get") ? { storageVersionHash: storageVersionHash(resource) } : {}),
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

function aggregated(resources: ResourceRegistry, which: "core" | "groups"): { body: Uint8Array; etag: string } {
  const groups = which === "core" ? [{ name: "", versions: ["v1"] }] : groupsOf(resources);
  const value = {
    kind: "APIGroupDiscoveryList",
    apiVersion: "apidiscovery.k8s.io/v2",
    metadata: {},
    items: groups.map(({ name, versions }) => ({
      metadata: name ? { name } : {},
      versions: versions.map((version) => ({
        version,
        resources: resources
          .ofGroupVersion(apiVersionOf({ group: name, version }))
          .map(discoveryOf)
          .sort((a, b) => (a.resource < b.resource ? -1 : 1)),
        freshness: "Current",
      })),
    })),
  };
  const body = Buffer.from(JSON.stringify(value));
  return { body, etag: `"${fingerprint(body)}"` };
}

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
