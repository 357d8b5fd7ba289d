import { isEmptySelector, type LabelSelector } from "#api/meta/label-selector.ts";
import { controllerOf } from "#api/meta/owner.ts";
import { matches } from "#api/meta/selector-matchers.ts";
import { type ApiObject, type Stored } from "#api/resource.ts";
import { equal } from "#lib/data/equal.ts";
import { type Change, type Informer } from "#runtime/informer.ts";
import { type Wake } from "#runtime/reconciler.ts";

/** Objects controlled by the owner. */
export const ownedBy = <D extends ApiObject>(informer: Informer<D>, { metadata }: Stored): readonly D[] =>
  informer.by("controller", metadata.uid);

/** Objects in the owner's namespace without a controller. Their Resource needs the index `orphan`. */
export const orphansBeside = <D extends ApiObject>(informer: Informer<D>, { metadata }: ApiObject): readonly D[] =>
  informer.by("orphan", metadata.namespace ?? "");

/** The owners that may adopt an object without a controller, when it is new or its labels have changed. */
export function adopters<O extends Stored, D extends ApiObject>(
  change: Change<D>,
  owners: Informer<O>,
  selectorOf: (owner: O) => LabelSelector,
): Iterable<Wake> {
  const { metadata } = change.object;
  if (change.type === "delete" || controllerOf(change.object) || metadata.deletionTimestamp) return [];
  const { previous } = change;
  if (previous && !controllerOf(previous) && equal(previous.metadata.labels, metadata.labels)) return [];
  const found: Wake[] = [];
  for (const owner of owners.list(metadata.namespace)) {
    const selector = selectorOf(owner);
    if (!isEmptySelector(selector) && matches(selector, metadata.labels)) found.push(owner.metadata);
  }
  return found;
}
