import { type Resource } from "#api/resource.ts";
import { type Filter, type FilterTree, filteredShape, type ObjectShape } from "./shape.ts";

/** What no manager can own: the server gives it, or it names the object. */
const ofTheServer: FilterTree = {
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
 * The part of an object that a write to `subresource` ("" for the object itself) can own fields in: without what the
 * server gives, and without what that endpoint resets to what was there before.
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

function filterOf(resource: Resource, subresource: string): Filter {
  const id = `${resource.group}/${resource.plural}`;
  const only = onlyFields[`${id}/${subresource}`];
  if (only) return { skip: ofTheServer, only };
  return { skip: join(ofTheServer, resetBy(resource, id, subresource)) };
}

/** Which fields an endpoint ignores, as upstream's strategies have it. */
function resetBy(resource: Resource, id: string, subresource: string): FilterTree {
  const special = resets[subresource === "" ? id : `${id}/${subresource}`];
  if (special) return special;
  if (subresource === "") return resource.subresources.some(({ name }) => name === "status") ? { status: true } : {};
  if (subresource !== "status") return {};
  return keepsMetadata.has(id) ? { spec: true } : { metadata: true, spec: true };
}

const resets: Readonly<Record<string, FilterTree>> = {
  "apps/deployments/status": { spec: true, metadata: { labels: true } },
  "/pods/status": { spec: true, metadata: { deletionTimestamp: true, ownerReferences: true } },
  "/namespaces/finalize": { status: true },
  "certificates.k8s.io/certificatesigningrequests": { spec: true, status: true },
  "certificates.k8s.io/certificatesigningrequests/status": { spec: true, status: { conditions: true } },
  "certificates.k8s.io/certificatesigningrequests/approval": { spec: true, status: { certificate: true } },
};

const containerResources: FilterTree = { "*": { resources: true, resizePolicy: true } };
/** Endpoints that let one part through and nothing else. */
const onlyFields: Readonly<Record<string, FilterTree>> = {
  "/pods/ephemeralcontainers": { spec: { ephemeralContainers: true } },
  "/pods/resize": { spec: { containers: containerResources, initContainers: containerResources } },
};

/** Kinds whose status endpoint takes labels and annotations too. */
const keepsMetadata = new Set([
  "/namespaces",
  "/nodes",
  "/persistentvolumeclaims",
  "/persistentvolumes",
  "/pods",
  "/replicationcontrollers",
  "/resourcequotas",
  "/services",
  "apiextensions.k8s.io/customresourcedefinitions",
  "apps/daemonsets",
  "apps/deployments",
  "apps/replicasets",
  "apps/statefulsets",
  "autoscaling/horizontalpodautoscalers",
  "batch/cronjobs",
  "batch/jobs",
  "certificates.k8s.io/certificatesigningrequests",
  "certificates.k8s.io/podcertificaterequests",
  "networking.k8s.io/ingresses",
  "policy/poddisruptionbudgets",
]);

function join(a: FilterTree, b: FilterTree): FilterTree {
  const joined: Record<string, FilterTree | true> = { ...a };
  for (const [name, tree] of Object.entries(b)) {
    const mine = joined[name];
    joined[name] = mine === undefined || mine === true || tree === true ? tree : join(mine, tree);
  }
  return joined;
}
