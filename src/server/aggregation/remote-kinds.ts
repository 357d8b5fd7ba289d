import { compareVersions } from "#api/compare-versions.ts";
import { defineResource, type Resource, type Verb } from "#api/resource.ts";
import { type RemoteVersion, type ResourceDiscovery } from "../remote-routes.ts";

/**
 * The kinds that other servers describe, as Resources by which a client can name them. A kind that is served in several
 * versions is the same objects, so there is one Resource for the version that its server prefers.
 */
export function remoteKinds(
  versions: readonly RemoteVersion[],
  priorityOf: (version: RemoteVersion) => number,
): readonly Resource[] {
  const preferred = versions.toSorted((a, b) => priorityOf(b) - priorityOf(a) || compareVersions(b.version, a.version));
  const found = new Map<string, Resource>();
  for (const version of preferred) {
    for (const described of version.resources) {
      const key = `${version.group}/${described.resource}`;
      if (!found.has(key)) found.set(key, resourceOf(version, described));
    }
  }
  return [...found.values()];
}

/** Only what a client needs: the server itself knows the fields. */
function resourceOf({ group, version }: RemoteVersion, described: ResourceDiscovery): Resource {
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
  return { ...(made as unknown as Resource), isRemote: true };
}
