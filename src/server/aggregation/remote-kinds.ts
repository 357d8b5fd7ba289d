import { compareVersions } from "#api/compare-versions.ts";
import { defineResource, type Resource, type Verb } from "#api/resource.ts";
import { type RemoteResources, type RemoteVersion, type ResourceDiscovery } from "../remote-routes.ts";

/**
 * The kinds that other servers describe, as Resources by which a client can name them. A kind that a server serves in
 * several versions is the same objects, so one of them is preferred. Other servers of the group have other objects.
 */
export function remoteKinds(
  versions: readonly RemoteVersion[],
  priorityOf: (version: RemoteVersion) => number,
): RemoteResources {
  const sorted = versions.toSorted((a, b) => priorityOf(b) - priorityOf(a) || compareVersions(b.version, a.version));
  const preferred = new Map<string, Resource>();
  const inAllVersions: Resource[] = [];
  for (const version of sorted) {
    for (const described of version.resources) {
      const resource = resourceOf(version, described);
      const key = `${version.server} ${version.group}/${described.resource}`;
      if (!preferred.has(key)) preferred.set(key, resource);
      inAllVersions.push(resource);
    }
  }
  return { preferred: [...preferred.values()], inAllVersions };
}

/** Only what a client needs: the server itself knows the fields. */
function resourceOf({ group, version, server }: RemoteVersion, described: ResourceDiscovery): Resource {
  const { resource: plural, responseKind, scope, singularResource: singular } = described;
  const made = defineResource(
    `${group}/${version}.${responseKind.kind}`,
    {},
    {
      doc: "",
      scope,
      plural,
      singular,
      verbs: described.verbs as readonly Verb[],
    },
  );
  return { ...(made as unknown as Resource), isRemote: true, remoteServer: server };
}
