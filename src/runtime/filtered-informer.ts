import { matchesFields, parseFieldSelector } from "#api/meta/field-selector.ts";
import { matchesRequirements, parseLabelSelector } from "#api/meta/label-selector.ts";
import { type ApiObject, type Resource } from "#api/resource.ts";
import { type Change, type Informer, type InformerScope } from "./informer.ts";

/**
 * The part of an informer that is in a scope; the informer itself if the scope is everything. With thousands of scopes
 * that select by the same field (the pods of each node), a change costs one look-up, not one test per scope.
 */
export function scopedInformer<T extends ApiObject>(base: Informer<T>, scope: InformerScope = {}): Informer<T> {
  const { namespace, labelSelector, fieldSelector } = scope;
  if (!namespace && !labelSelector && !fieldSelector) return base;
  const matches = scopeFilter(base.resource, scope);
  const [field] = parseFieldSelector(fieldSelector ?? "").filter(({ operator }) => operator === "=");
  const switchboard = field && switchboardOf(base, field.path);
  const candidates = switchboard ? () => switchboard.get(field.value) : () => base.list(namespace);
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
    subscribe(handler) {
      const pass = (change: Change<T>): void => passOn(change, matches, handler);
      return switchboard ? switchboard.subscribe(field.value, pass) : base.subscribe(pass);
    },
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
  return Object.hasOwn(resource.selectableFields, path) ? resource.selectableFields[path]?.(object) : undefined;
}

/** An object that enters the scope is new there; one that leaves it is deleted there. */
function passOn<T extends ApiObject>(
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

/** Delivers the changes of an informer to the subscribers of one value of a field. */
class Switchboard<T extends ApiObject> {
  readonly #base: Informer<T>;
  readonly #index: string;
  readonly #valueOf: (object: T) => string;
  readonly #handlers = new Map<string, Set<(change: Change<T>) => void>>();
  #unsubscribe: (() => void) | undefined;

  constructor(base: Informer<T>, path: string) {
    this.#base = base;
    this.#index = `scope ${path}`;
    this.#valueOf = (object) => fieldOf(base.resource, object, path) ?? "";
    base.addIndex(this.#index, (object) => [this.#valueOf(object)]);
  }

  get(value: string): readonly T[] {
    return this.#base.by(this.#index, value);
  }

  subscribe(value: string, handler: (change: Change<T>) => void): () => void {
    // Before the first handler is added: existing objects are delivered below, only to the new handler.
    this.#unsubscribe ??= this.#base.subscribe((change) => this.#route(change));
    for (const object of this.get(value)) handler({ type: "put", object, previous: undefined, trace: undefined });
    const handlers = this.#handlers.get(value) ?? new Set();
    this.#handlers.set(value, handlers.add(handler));
    return () => {
      handlers.delete(handler);
      if (handlers.size === 0 && this.#handlers.get(value) === handlers) this.#handlers.delete(value);
    };
  }

  #route(change: Change<T>): void {
    const value = this.#valueOf(change.object);
    const before = change.type === "put" && change.previous ? this.#valueOf(change.previous) : value;
    const concerned = [...(this.#handlers.get(value) ?? [])];
    if (before !== value) concerned.push(...(this.#handlers.get(before) ?? []));
    const faults: unknown[] = [];
    for (const handler of concerned) {
      try {
        handler(change);
      } catch (error) {
        faults.push(error);
      }
    }
    // The informer logs it, as if the handler were its own; the others have been called by now.
    if (faults.length > 0) throw faults[0];
  }
}

/** One for each informer and field, for the life of the informer. */
const switchboards = new WeakMap<object, Map<string, unknown>>();

function switchboardOf<T extends ApiObject>(base: Informer<T>, path: string): Switchboard<T> {
  const known = switchboards.get(base) ?? new Map<string, unknown>();
  switchboards.set(base, known);
  const found = known.get(path) ?? new Switchboard(base, path);
  known.set(path, found);
  // Only this function fills the map, with the switchboards of that informer.
  return found as Switchboard<T>;
}
