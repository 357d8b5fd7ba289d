import { type LabelSelector } from "#api/meta/label-selector.ts";
import { ownerRefTo } from "#api/meta/owner.ts";
import { matcherOf, noLabels } from "#api/meta/selector-matchers.ts";
import { type ApiObject, type Resource, type Stored } from "#api/resource.ts";
import { ignoreNotFound, isNotFound, isStatus } from "#api/status.ts";
import { type Client } from "#client/client.ts";
import { type Informer } from "#runtime/informer.ts";
import { orphansBeside, ownedBy } from "./dependents.ts";

export interface Claim<O extends ApiObject, D extends ApiObject> {
  readonly owner: O;
  readonly ownerResource: Resource<O>;
  readonly resource: Resource<D>;
  readonly selector: LabelSelector;
  /** Objects controlled by the owner. */
  readonly owned: readonly D[];
  /** Objects without a controller. */
  readonly orphans: readonly D[];
}

/** What the owner keeps, adopts and releases, by its selector. */
export interface ClaimPlan<D> {
  readonly keep: D[];
  readonly adopt: D[];
  readonly release: D[];
}

/** Decides by labels what belongs to the owner. An owner that is being deleted adopts and releases nothing. */
export function planClaim<O extends ApiObject, D extends ApiObject>(claim: Claim<O, D>): ClaimPlan<D> {
  const { owner, selector, owned, orphans } = claim;
  const plan: ClaimPlan<D> = { keep: [], adopt: [], release: [] };
  const ends = owner.metadata.deletionTimestamp !== undefined;
  const isSelected = matcherOf(selector);
  for (const object of owned) {
    if (isSelected(object.metadata.labels ?? noLabels)) plan.keep.push(object);
    else if (!ends) plan.release.push(object);
  }
  if (ends) return plan;
  for (const object of selectedOf(orphans, selector)) {
    if (!object.metadata.deletionTimestamp) plan.adopt.push(object);
  }
  return plan;
}

/**
 * The objects that a selector selects. An informer returns the same array until one of its objects changes, so the many
 * objects that belong to nobody are compared once, and not each time an owner is looked at.
 */
function selectedOf<D extends ApiObject>(objects: readonly D[], selector: LabelSelector): readonly D[] {
  const known = selections.get(objects) ?? new WeakMap<LabelSelector, readonly ApiObject[]>();
  selections.set(objects, known);
  const found = known.get(selector);
  // Only this function fills the map, with objects of that array.
  if (found) return found as readonly D[];
  const isSelected = matcherOf(selector);
  const selected = objects.filter(({ metadata }) => isSelected(metadata.labels ?? noLabels));
  known.set(selector, selected);
  return selected;
}
const selections = new WeakMap<readonly ApiObject[], WeakMap<LabelSelector, readonly ApiObject[]>>();

/** Which objects an owner may have. */
export interface ClaimRequest<O extends Stored, D extends ApiObject> {
  readonly owner: O;
  readonly ownerResource: Resource<O>;
  /** Where its objects are. */
  readonly dependents: Informer<D>;
  readonly selector: LabelSelector;
  /** Objects for which this is false are as good as absent; default: none. */
  concerns?(object: D): boolean;
  /** Objects for which this is false are not adopted; default: none. */
  adopts?(object: D): boolean;
}

/** Adopts and releases objects so that the owner has what its selector matches, and returns those. */
export async function claim<O extends Stored, D extends ApiObject>(
  client: Client,
  asked: ClaimRequest<O, D>,
  signal: AbortSignal,
): Promise<D[]> {
  const { owner, ownerResource, dependents, selector } = asked;
  const isConcerned = (object: D): boolean => asked.concerns?.(object) ?? true;
  const isAdoptable = (object: D): boolean => isConcerned(object) && (asked.adopts?.(object) ?? true);
  const request: Claim<O, D> = {
    owner,
    ownerResource,
    resource: dependents.resource,
    selector,
    owned: ownedBy(dependents, owner).filter(isConcerned),
    orphans: orphansBeside(dependents, owner),
  };
  const { keep, adopt: selected, release } = planClaim(request);
  const adopt = selected.filter(isAdoptable);
  if (adopt.length > 0) await checkStillThere(client, request, signal);
  const adopted = await Promise.all(adopt.map((object) => take(client, { ...request, object }, signal)));
  await Promise.all(release.map((object) => releaseObject(client, { ...request, object }, signal)));
  for (const object of adopted) if (object) keep.push(object);
  return keep;
}

/**
 * A deleted owner must not adopt anything: the garbage collector would then delete it, although the next owner wants
 * it.
 */
async function checkStillThere<O extends ApiObject, D extends ApiObject>(
  client: Client,
  { owner, ownerResource }: Claim<O, D>,
  signal: AbortSignal,
): Promise<void> {
  const { metadata } = await client.get(ownerResource, owner, { signal });
  const { kind } = ownerResource;
  const name = `${metadata.namespace}/${metadata.name}`;
  if (metadata.uid !== owner.metadata.uid) {
    throw new Error(`original ${kind} ${name} is gone: got uid ${metadata.uid}, wanted ${owner.metadata.uid}`);
  }
  if (metadata.deletionTimestamp) throw new Error(`${kind} ${name} has just been deleted`);
}

type Held<O extends ApiObject, D extends ApiObject> = Claim<O, D> & { readonly object: D };

async function take<O extends ApiObject, D extends ApiObject>(
  client: Client,
  { owner, ownerResource, resource, object }: Held<O, D>,
  signal: AbortSignal,
): Promise<D | undefined> {
  const metadata = { ownerReferences: [ownerRefTo(ownerResource, owner)], uid: object.metadata.uid };
  const patch = { type: "strategic", body: { metadata } } as const;
  return await client.patch(resource, object, patch, { signal }).catch(ignoreNotFound);
}

async function releaseObject<O extends ApiObject, D extends ApiObject>(
  client: Client,
  { owner, resource, object }: Held<O, D>,
  signal: AbortSignal,
): Promise<void> {
  const reference = { $patch: "delete", uid: owner.metadata.uid };
  const metadata = { ownerReferences: [reference], uid: object.metadata.uid };
  try {
    await client.patch(resource, object, { type: "strategic", body: { metadata } }, { signal });
  } catch (error) {
    // It is gone, or another object has its name now.
    if (!isNotFound(error) && !isStatus(error, "Invalid")) throw error;
  }
}
