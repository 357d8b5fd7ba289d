import { ControllerRevision } from "#api/apps/controller-revision.ts";
import { type PodTemplateSpec } from "#api/core/pod-template.ts";
import { type LabelSelector } from "#api/meta/label-selector.ts";
import { isControlledBy, ownerRefTo } from "#api/meta/owner.ts";
import { type Resource, type Stored } from "#api/resource.ts";
import { ignoreNotFound, isAlreadyExists } from "#api/status.ts";
import { revisionLabel } from "#api/well-known.ts";
import { equal } from "#lib/data/equal.ts";
import { sortedJson } from "#lib/text/json.ts";
import { type ReconcilerDeps } from "#runtime/reconciler.ts";
import { claim } from "./claim.ts";
import { contentHash } from "./content-hash.ts";

/** On the revision of a StatefulSet: its own hash. */
export const hashLabel = "controller.kubernetes.io/hash";

export interface RevisionOwner<T extends Stored> {
  readonly resource: Resource<T>;
  readonly owner: T;
  readonly selector: LabelSelector;
  readonly template: PodTemplateSpec;
  readonly collisions: number;
  /** The label of revisions with their hash; kinds differ in it. */
  readonly label: string;
}

export interface Revisions {
  /** From the oldest to the newest, with that of the template. */
  readonly all: readonly ControllerRevision[];
  /** That of the current template. */
  readonly update: ControllerRevision;
  /** How often the name of a new revision was taken. */
  readonly collisions: number;
}

/** What a revision saves: all of the template, which replaces that of the owner in a rollback. */
const dataOf = (template: PodTemplateSpec) => ({ spec: { template: { ...template, $patch: "replace" } } });

/** The template that a revision saves. */
export function templateOf({ data }: ControllerRevision): PodTemplateSpec | undefined {
  const { $patch: _, ...template } = (data as ReturnType<typeof dataOf> | undefined)?.spec?.template ?? { $patch: "" };
  return "spec" in template ? (template as PodTemplateSpec) : undefined;
}

/** A short name of the revision, for labels of pods. Older releases used one label for all kinds. */
export const hashOf = ({ metadata: { labels, name } }: ControllerRevision): string =>
  labels?.[revisionLabel] ?? labels?.[hashLabel] ?? name;

const byRevision = (a: ControllerRevision, b: ControllerRevision): number =>
  a.revision - b.revision || (a.metadata.name < b.metadata.name ? -1 : 1);

/**
 * Finds the revision of the current template, or creates it. One that is used again becomes the newest. Revisions that an
 * earlier owner left behind are adopted: by a new one, the pods that it left behind would all be replaced.
 */
export async function syncRevisions<T extends Stored>(
  deps: ReconcilerDeps,
  of: RevisionOwner<T>,
  signal: AbortSignal,
): Promise<Revisions> {
  const { owner, resource: ownerResource, selector } = of;
  const dependents = deps.informers.of(ControllerRevision);
  const known = (await claim(deps.client, { owner, ownerResource, dependents, selector }, signal)).toSorted(byRevision);
  const newest = known.at(-1);
  const data = dataOf(of.template);
  const same = known.findLast((revision) => equal(revision.data, data));
  if (same && same === newest) return { all: known, update: same, collisions: of.collisions };
  const next = (newest?.revision ?? 0) + 1;
  if (!same) {
    const { update, collisions } = await createRevision(deps, { ...of, next }, signal);
    return { all: [...known, update], update, collisions };
  }
  const update = await deps.client.update(ControllerRevision, { ...same, revision: next }, { signal });
  return { all: [...known.filter((revision) => revision !== same), update], update, collisions: of.collisions };
}

async function createRevision<T extends Stored>(
  { client }: ReconcilerDeps,
  { resource, owner, template, collisions, label, next }: RevisionOwner<T> & { readonly next: number },
  signal: AbortSignal,
): Promise<Pick<Revisions, "update" | "collisions">> {
  // Upstream's clients compare the bytes of a revision with a template that they have sorted.
  const data = JSON.parse(sortedJson(dataOf(template))) as ReturnType<typeof dataOf>;
  const { namespace = "", name } = owner.metadata;
  for (let attempt = collisions; ; attempt++) {
    const hash = contentHash(data, attempt);
    const labels = { ...template.metadata.labels, [label]: hash };
    const metadata = { namespace, name: `${name}-${hash}`, labels, ownerReferences: [ownerRefTo(resource, owner)] };
    try {
      const update = await client.create(ControllerRevision, { metadata, data, revision: next }, { signal });
      return { update, collisions: attempt };
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      const other = await client.get(ControllerRevision, metadata, { signal });
      if (isControlledBy(other, owner) && equal(other.data, data)) return { update: other, collisions: attempt };
    }
  }
}

/** Deletes the oldest revisions that no pod uses, beyond the limit. A negative limit keeps all. */
export async function removeOldRevisions(
  { client }: ReconcilerDeps,
  {
    all,
    inUse,
    limit,
  }: { readonly all: readonly ControllerRevision[]; readonly inUse: ReadonlySet<string>; readonly limit: number },
  signal: AbortSignal,
): Promise<void> {
  if (limit < 0) return;
  const idle = all.filter(({ metadata }) => !inUse.has(metadata.name));
  for (const revision of idle.slice(0, Math.max(0, idle.length - limit))) {
    const { uid } = revision.metadata;
    await client.delete(ControllerRevision, revision, { preconditions: { uid }, signal }).catch(ignoreNotFound);
  }
}
