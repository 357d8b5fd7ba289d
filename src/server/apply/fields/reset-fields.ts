import { type FieldTree, type Resource } from "#api/resource.ts";
import { type Filter, filteredShape, type ObjectShape } from "./shape.ts";

/** What no manager can own: the server sets it, or it identifies the object. */
const serverOwned: FieldTree = {
  apiVersion: true,
  kind: true,
  metadata: {
    name: true,
    namespace: true,
    creationTimestamp: true,
    selfLink: true,
    uid: true,
    clusterName: true,
    generation: true,
    managedFields: true,
    resourceVersion: true,
  },
};

const shapes = new WeakMap<Resource["schema"], Map<string, ObjectShape>>();

/**
 * The part of an object in which a write to `subresource` ("" for the object itself) can own fields: without what the
 * server sets, and without what that endpoint resets to its old value.
 */
export function ownableShape(resource: Resource, subresource: string): ObjectShape {
  let known = shapes.get(resource.schema);
  if (!known) {
    known = new Map();
    shapes.set(resource.schema, known);
  }
  let shape = known.get(subresource);
  if (!shape) {
    shape = filteredShape(resource.schema, filterOf(resource, subresource));
    known.set(subresource, shape);
  }
  return shape;
}

/** What an endpoint ignores is declared with it; the main endpoint ignores the status if that has its own. */
function filterOf({ subresources, resets = {} }: Resource, subresource: string): Filter {
  const part = subresources.find(({ name }) => name === subresource);
  if (part?.only) return { skip: serverOwned, only: part.only };
  const hasStatus = subresources.some(({ name }) => name === "status");
  const own: FieldTree = hasStatus ? { ...resets, status: true } : resets;
  return { skip: join(serverOwned, subresource === "" ? own : (part?.resets ?? {})) };
}

function join(a: FieldTree, b: FieldTree): FieldTree {
  const joined: Record<string, FieldTree | true> = { ...a };
  for (const [name, tree] of Object.entries(b)) {
    const mine = joined[name];
    joined[name] = mine === undefined || mine === true || tree === true ? tree : join(mine, tree);
  }
  return joined;
}
