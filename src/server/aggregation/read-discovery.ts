import {
  type GroupVersionKind,
  type ResourceDiscovery,
  type SubresourceDiscovery,
  type VersionDiscovery,
} from "../remote-routes.ts";

/** The server describes itself in a way that no client could read. */
export class DiscoveryError extends Error {
  override readonly name = "DiscoveryError";
}

const maxResources = 1000;
const maxParts = 100;

/** The group and version in an aggregated document; without resources if the document does not mention it. */
export function readAggregated(document: unknown, group: string, version: string): VersionDiscovery {
  const groups = listOf(document, "items");
  const found = groups.find((one) => textOf(memberOf(one, "metadata"), "name", anyName) === group);
  const versions = found === undefined ? [] : listOf(found, "versions");
  const own = versions.find((one) => memberOf(one, "version") === version);
  return { version, resources: own === undefined ? [] : listOf(own, "resources").map(readResource) };
}

function readResource(value: unknown): ResourceDiscovery {
  const subresources = listOf(value, "subresources", maxParts).map((part) => ({
    subresource: textOf(part, "subresource", plainName),
    responseKind: kindOf(memberOf(part, "responseKind")),
    verbs: namesOf(part, "verbs"),
  }));
  return {
    resource: textOf(value, "resource", plainName),
    responseKind: kindOf(memberOf(value, "responseKind")),
    scope: scopeOf(memberOf(value, "scope") === "Namespaced"),
    singularResource: textOf(value, "singularResource", anyName),
    verbs: namesOf(value, "verbs"),
    ...namesIfAny(value),
    ...(subresources.length > 0 ? { subresources } : {}),
  };
}

/** The same from an APIResourceList, in which `flunders/status` is an entry of its own. */
export function readPlain(document: unknown, group: string, version: string): VersionDiscovery {
  const resources = new Map<string, ResourceDiscovery>();
  const parts = new Map<string, SubresourceDiscovery[]>();
  for (const value of listOf(document, "resources")) {
    const [name = "", subresource] = textOf(value, "name", slashedName).split("/");
    const responseKind = {
      group: textOf(value, "group", anyName) || group,
      version: textOf(value, "version", anyName) || version,
      kind: textOf(value, "kind", plainName),
    };
    const [scope, verbs] = [scopeOf(memberOf(value, "namespaced") === true), namesOf(value, "verbs")];
    if (subresource === undefined) {
      const singularResource = textOf(value, "singularName", anyName);
      resources.set(name, { resource: name, responseKind, scope, singularResource, verbs, ...namesIfAny(value) });
    } else {
      parts.set(name, [...(parts.get(name) ?? []), { subresource, responseKind, verbs }]);
      // A resource may have nothing but parts.
      if (!resources.has(name)) resources.set(name, { ...nothing, resource: name, scope });
    }
  }
  const whole = Array.from(resources.values(), (one) => {
    const subresources = parts.get(one.resource);
    return subresources ? { ...one, subresources } : one;
  });
  return { version, resources: whole };
}

const nothing = { responseKind: { group: "", version: "", kind: "" }, singularResource: "", verbs: [] };
const scopeOf = (isNamespaced: boolean): ResourceDiscovery["scope"] => (isNamespaced ? "Namespaced" : "Cluster");

/** The hash of one document in an index of OpenAPI documents; undefined if it has none that is usable in a URL. */
export function readOpenApiHash(index: unknown, name: string): string | undefined {
  const url = memberOf(memberOf(memberOf(index, "paths"), name), "serverRelativeURL");
  return typeof url === "string" && url.length < 1000
    ? /[?&]hash=([A-Za-z0-9_.-]{1,200})(?:&|$)/.exec(url)?.[1]
    : undefined;
}

function namesIfAny(value: unknown): Pick<ResourceDiscovery, "shortNames" | "categories"> {
  const [shortNames, categories] = [namesOf(value, "shortNames"), namesOf(value, "categories")];
  return { ...(shortNames.length > 0 ? { shortNames } : {}), ...(categories.length > 0 ? { categories } : {}) };
}

const kindOf = (value: unknown): GroupVersionKind => ({
  group: textOf(value, "group", anyName),
  version: textOf(value, "version", anyName),
  kind: textOf(value, "kind", anyName),
});

const plainName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$/;
const slashedName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,252}(?:\/[A-Za-z0-9._-]{1,253})?$/;
const anyName = /^(?:[A-Za-z0-9][A-Za-z0-9._-]{0,252})?$/;

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Record<string, unknown>)[name];
}

function textOf(value: unknown, name: string, pattern: RegExp): string {
  const text = memberOf(value, name) ?? "";
  if (typeof text === "string" && pattern.test(text)) return text;
  throw new DiscoveryError(`the server describes itself with an invalid ${name}`);
}

function listOf(value: unknown, name: string, max = maxResources): readonly unknown[] {
  const list = memberOf(value, name) ?? [];
  if (Array.isArray(list) && list.length <= max) return list;
  throw new DiscoveryError(`the server describes itself with ${name} that are not a list of at most ${max}`);
}

function namesOf(value: unknown, name: string): string[] {
  return listOf(value, name, maxParts).map((item) => {
    if (typeof item === "string" && plainName.test(item)) return item;
    throw new DiscoveryError(`the server describes itself with invalid ${name}`);
  });
}
