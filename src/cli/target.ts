import { allResources } from "#api/all.ts";
import { groupResource, type Resource } from "#api/resource.ts";
import { type Client } from "#client/client.ts";
import { discoverResources } from "#client/discover.ts";
import { UserError } from "./command.ts";

export interface Target {
  readonly kind: string;
  readonly name: string;
}

/** Accepts `deploy/web` and `deploy web`. */
export function parseTarget(words: readonly string[], command: string): Target {
  const [first = "", second, ...more] = words;
  const slash = first.indexOf("/");
  const [kind, name] = slash < 0 ? [first, second] : [first.slice(0, slash), first.slice(slash + 1)];
  if (!kind || !name || more.length > 0 || (slash >= 0 && second !== undefined)) {
    throw new UserError(
      `name an object: orlop ${command} KIND/NAME [-n NAMESPACE], for example orlop ${command} deploy/web`,
    );
  }
  return { kind, name };
}

/**
 * Accepts a plural, singular, kind or short name, with or without its group: `deploy`, `pod`, `deployments.apps`.
 * Only kinds that Orlop does not know itself are looked up in the cluster.
 */
export async function findKind(client: Pick<Client, "raw">, kind: string): Promise<Resource> {
  const wanted = kind.toLowerCase();
  const isIt = (resource: Resource): boolean => namesOf(resource).includes(wanted);
  const resource = allResources.find(isIt) ?? (await discoverResources(client)).find(isIt);
  if (!resource) throw new UserError(`unknown kind ${JSON.stringify(kind)}: \`kubectl api-resources\` lists them`);
  return resource;
}

function namesOf(resource: Resource): string[] {
  const { plural, singular, shortNames } = resource;
  return [plural, singular, ...shortNames].flatMap((name) => [name, groupResource(resource, name)]);
}
