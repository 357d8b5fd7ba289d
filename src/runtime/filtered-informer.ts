import { type FieldTerm, matchesFields, parseFieldSelector, requiredField } from "#api/meta/field-selector.ts";
import { matchesRequirements, parseLabelSelector } from "#api/meta/label-selector.ts";
import { type ApiObject, type Resource } from "#api/resource.ts";
import { type Change, type Informer, type InformerScope } from "./informer.ts";

/** The part of an informer that is in a scope; the informer itself if the scope is everything. */
export function scopedInformer<T extends ApiObject>(base: Informer<T>, scope: InformerScope = {}): Informer<T> {
  const { namespace, labelSelector, fieldSelector } = scope;
  if (!namespace && !labelSelector && !fieldSelector) return base;
  const fields = parseFieldSelector(fieldSelector ?? "");
  const matches = scopeFilter(base.resource, scope);
  const candidates = candidatesOf(base, scope, fields);
  return {
    resource: base.resource,
    get revision() {
      return base.revision;
    },
    get(ref) {
      const object = base.get(ref);
      return object && matches(object) ? object : undefined;
    },
    list: (wanted) =>
      candidates().filter((object) => (!wanted || object.metadata.namespace === wanted) && matches(object)),
    by: (index, key) => base.by(index, key).filter(matches),
    addIndex: (name, keysOf) => base.addIndex(name, keysOf),
    subscribe: (handler) => base.subscribe((change) => pass(change, matches, handler)),
    synced: (signal) => base.synced(signal),
    caughtUpTo: (revision, signal) => base.caughtUpTo(revision, signal),
  };
}

/** Whether an object is in a scope. */
export function scopeFilter<T extends ApiObject>(
  resource: Resource<T>,
  { namespace, labelSelector, fieldSelector }: InformerScope,
): (object: T) => boolean {
  const labels = parseLabelSelector(labelSelector ?? "");
  const fields = parseFieldSelector(fieldSelector ?? "");
  return (object) =>
    (!namespace || object.metadata.namespace === namespace) &&
    matchesRequirements(labels, object.metadata.labels) &&
    matchesFields(fields, (path) => fieldOf(resource, object, path));
}

function fieldOf<T extends ApiObject>(resource: Resource<T>, object: T, path: string): string | undefined {
  if (path === "metadata.name") return object.metadata.name;
  if (path === "metadata.namespace") return object.metadata.namespace;
  return resource.selectableFields[path]?.(object);
}

/** Where to look: under an index that is named like a selected field, in the namespace, or everywhere. */
function candidatesOf<T extends ApiObject>(
  base: Informer<T>,
  { namespace }: InformerScope,
  fields: readonly FieldTerm[],
): () => T[] {
  for (const index of Object.keys(base.resource.indexes)) {
    const value = requiredField(fields, index);
    if (value !== undefined && index in base.resource.selectableFields) return () => base.by(index, value);
  }
  return () => base.list(namespace);
}

/** An object that comes into the scope is new there; one that leaves it is deleted there. */
function pass<T extends ApiObject>(
  change: Change<T>,
  matches: (object: T) => boolean,
  handler: (change: Change<T>) => void,
): void {
  if (change.type === "delete") {
    if (matches(change.object)) handler(change);
    return;
  }
  const { object, previous, trace } = change;
  const before = previous && matches(previous) ? previous : undefined;
  if (matches(object)) handler(before === previous ? change : { type: "put", object, previous: before, trace });
  else if (before) handler({ type: "delete", object, trace });
}
