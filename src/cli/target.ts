import { allResources } from "#api/all.ts";
import { groupResource, type Resource } from "#api/resource.ts";
import { UserError } from "./command.ts";

export interface Target {
  readonly resource: Resource;
  readonly name: string;
}

/** Accepts a plural, singular, kind or short name, with or without its group: `deploy/web`, `pod web`, `deployments.apps/web`. */
export function parseTarget(words: readonly string[], command: string): Target {
  const [first = "", second, ...more] = words;
  const slash = first.indexOf("/");
  const [kind, name] = slash < 0 ? [first, second] : [first.slice(0, slash), first.slice(slash + 1)];
  if (!kind || !name || more.length > 0 || (slash >= 0 && second !== undefined)) {
    throw new UserError(
      `name an object: orlop ${command} KIND/NAME [-n NAMESPACE], for example orlop ${command} deploy/web`,
    );
  }
  const wanted = kind.toLowerCase();
  const resource = allResources.find((each) => namesOf(each).includes(wanted));
  if (!resource) throw new UserError(`unknown kind ${JSON.stringify(kind)}`);
  return { resource, name };
}

function namesOf(resource: Resource): string[] {
  const { plural, singular, shortNames } = resource;
  return [plural, singular, ...shortNames].flatMap((name) => [name, groupResource(resource, name)]);
}
