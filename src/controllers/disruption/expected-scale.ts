import { Deployment } from "#api/apps/deployment.ts";
import { ReplicaSet } from "#api/apps/replica-set.ts";
import { type Pod } from "#api/core/pod.ts";
import { type OwnerReference } from "#api/meta/object-meta.ts";
import { controllerOf } from "#api/meta/owner.ts";
import { type ApiObject, groupOf, groupResource, type Resource, type ScalePaths } from "#api/resource.ts";
import { isObject } from "#lib/data/json-object.ts";
import { own } from "#lib/data/own.ts";
import { type Informers } from "#runtime/informer.ts";

export interface ScaleDeps {
  readonly informers: Informers;
  /** Every kind that is currently served. */
  resources(): readonly Resource[];
}

export interface ExpectedScale {
  /** How many pods the controllers of the pods want together. */
  readonly count: number;
  /** The names of pods without a controller. */
  readonly unmanaged: readonly string[];
}

/** Throws an Error in upstream's words if the controller of a pod cannot be scaled. */
export async function expectedScale(
  deps: ScaleDeps,
  pods: readonly Pod[],
  signal: AbortSignal,
): Promise<ExpectedScale> {
  const scales = new Map<string, number>();
  const seen = new Set<string>();
  const unmanaged: string[] = [];
  for (const pod of pods) {
    const reference = controllerOf(pod);
    if (!reference) unmanaged.push(pod.metadata.name);
    else if (!seen.has(reference.uid)) {
      seen.add(reference.uid);
      const found = await findScaled(deps, reference, { namespace: pod.metadata.namespace, signal });
      if (!found) throw new Error(`found no controllers for pod ${JSON.stringify(pod.metadata.name)}`);
      scales.set(found.uid, found.replicas);
    }
  }
  return { count: [...scales.values()].reduce((sum, replicas) => sum + replicas, 0), unmanaged };
}

interface Scaled {
  readonly uid: string;
  readonly replicas: number;
}
interface Place {
  readonly namespace: string;
  readonly signal: AbortSignal;
}

/** A Deployment stands for its ReplicaSets. undefined if the controller is gone. */
async function findScaled(deps: ScaleDeps, reference: OwnerReference, place: Place): Promise<Scaled | undefined> {
  const resource = resourceOf(deps.resources(), reference);
  const paths = resource.subresources.find(({ scale }) => scale)?.scale;
  if (!paths) throw new Error(`${groupResource(resource, resource.plural)} does not implement the scale subresource`);
  const informer = deps.informers.of(resource);
  await informer.synced(place.signal);
  const object = informer.get({ namespace: place.namespace, name: reference.name });
  if (object?.metadata.uid !== reference.uid) return undefined;
  const owner = controllerOf(object);
  const isDeployed = resource.kind === ReplicaSet.kind && owner?.kind === Deployment.kind;
  if (owner && isDeployed) return await findScaled(deps, owner, place);
  return { uid: reference.uid, replicas: replicasOf(object, paths) };
}

function resourceOf(resources: readonly Resource[], { apiVersion, kind }: OwnerReference): Resource {
  const group = groupOf(apiVersion);
  // Upstream still knows workloads by the name of their first group.
  const groups = group === "extensions" ? ["apps"] : [group];
  const found = resources.find((resource) => resource.kind === kind && groups.includes(resource.group));
  if (!found) throw new Error(`no matches for kind ${JSON.stringify(kind)} in version ${JSON.stringify(apiVersion)}`);
  return found;
}

/** The value at a path such as `spec.replicas`, or `.spec.replicas` in a custom resource. */
function replicasOf(object: ApiObject, { specReplicas }: ScalePaths): number {
  let value: unknown = object;
  for (const name of specReplicas.split(".").filter(Boolean)) value = isObject(value) ? own(value, name) : undefined;
  return typeof value === "number" ? value : 0;
}
