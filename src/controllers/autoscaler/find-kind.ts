import { type Resource } from "#api/resource.ts";

/** The kind in the first of its versions that is served; throws in upstream's words. */
export function findKind(kinds: readonly Resource[], group: string, kind: string): Resource {
  const found = kinds.find((resource) => resource.kind === kind && resource.group === group);
  if (!found) throw new Error(`no matches for kind ${JSON.stringify(kind)} in group ${JSON.stringify(group)}`);
  return found;
}
