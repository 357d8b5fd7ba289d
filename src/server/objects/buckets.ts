import { controllerOf } from "#api/meta/owner.ts";
import { type ApiObject, type IndexGetter, type Resource } from "#api/resource.ts";
import { compareText } from "#lib/data/compare-text.ts";
import { withoutAll } from "#lib/data/without-all.ts";
import { maxKeyChars } from "#lib/text/long-text.ts";
import { type EncodedObject } from "./encode-once.ts";
import { getterOf, type Selection } from "./selection.ts";

interface Name {
  readonly namespace: string;
  readonly name: string;
}

interface Bucket<T extends ApiObject> {
  readonly byName: Map<string, EncodedObject<T>>;
  /** Sorted by name; computed on demand, and valid until a name is added or removed. */
  sorted: EncodedObject<T>[] | undefined;
  version: number;
}

interface Index<T extends ApiObject> {
  keysOf(object: T): readonly string[];
  readonly byKey: Map<string, Indexed<T>>;
}

/** What is under one key of an index. */
interface Indexed<T extends ApiObject> {
  /** By namespace and name. */
  readonly byName: Map<string, EncodedObject<T>>;
  /** The same as objects, if somebody has asked for them since the last change. */
  objects: readonly T[] | undefined;
}

/** The newest version of every object of a Resource: by namespace and name, and by any requested index. */
export class Buckets<T extends ApiObject> {
  readonly #resource: Resource<T>;
  readonly #keepsObjects: boolean;
  readonly #namespaces = new Map<string, Bucket<T>>();
  readonly #indexes = new Map<string, Index<T>>();
  readonly #declared: Map<string, IndexGetter<T>>;
  #version = 0;
  #objects = 0;
  #bytes = 0;

  /** `keepsObjects`: false for kinds that are kept as bytes. */
  constructor(resource: Resource<T>, keepsObjects = true) {
    this.#resource = resource;
    this.#keepsObjects = keepsObjects;
    this.#declared = new Map<string, IndexGetter<T>>([
      ["owner", (object) => (object.metadata.ownerReferences ?? []).map(({ uid }) => uid)],
      ["controller", (object) => listOf(controllerOf(object)?.uid)],
      ...Object.entries(resource.indexes),
    ]);
  }

  /** How many objects there are, and the bytes of all of them. */
  get size(): { readonly objects: number; readonly bytes: number } {
    return { objects: this.#objects, bytes: this.#bytes };
  }

  get(namespace: string, name: string): EncodedObject<T> | undefined {
    return this.#namespaces.get(namespace)?.byName.get(name);
  }

  put({ namespace, name }: Name, encoded: EncodedObject<T>): void {
    let bucket = this.#namespaces.get(namespace);
    if (!bucket) {
      bucket = { byName: new Map(), sorted: undefined, version: 0 };
      this.#namespaces.set(namespace, bucket);
    }
    const previous = bucket.byName.get(name);
    bucket.byName.set(name, encoded);
    this.#objects += previous ? 0 : 1;
    this.#bytes += encoded.storedBytes - (previous?.storedBytes ?? 0);
    if (!previous) bucket.sorted = undefined;
    else if (bucket.sorted) replaceSorted(bucket.sorted, previous, encoded);
    bucket.version = ++this.#version;
    const key = `${namespace}/${name}`;
    for (const index of this.#indexes.values()) reindex(index, key, previous, encoded);
  }

  delete({ namespace, name }: Name): void {
    const bucket = this.#namespaces.get(namespace);
    const previous = bucket?.byName.get(name);
    if (!bucket || !previous) return;
    bucket.byName.delete(name);
    this.#objects--;
    this.#bytes -= previous.storedBytes;
    bucket.sorted = undefined;
    bucket.version = ++this.#version;
    if (bucket.byName.size === 0) this.#namespaces.delete(namespace);
    for (const index of this.#indexes.values()) reindex(index, `${namespace}/${name}`, previous, undefined);
  }

  /** All objects of one namespace, or of all for "", sorted by key. The array must not be changed. */
  sorted(namespace: string): readonly EncodedObject<T>[] {
    if (namespace || this.#resource.scope === "Cluster") return sortedOf(this.#namespaces.get(namespace));
    // In the order of the store's keys, from which later chunks of a list are read: `a-b/` is before `a/`.
    const folders = [...this.#namespaces].map(([name, bucket]) => ({ key: `${name}/`, bucket }));
    return folders.sort((a, b) => compareText(a.key, b.key)).flatMap(({ bucket }) => sortedOf(bucket));
  }

  /** The matching objects, sorted by key. The array belongs to the caller. */
  select(selection: Selection): EncodedObject<T>[] {
    const candidates = this.candidates(selection);
    return selection.everything ? candidates : candidates.filter(({ object }) => selection.matches(object));
  }

  /** The same, and perhaps others that do not match: as many as can be left out without looking at them are. */
  candidates({ namespace, name, field, everything }: Selection): EncodedObject<T>[] {
    if (everything) return [...this.sorted(namespace)];
    if (name !== undefined && (namespace || this.#resource.scope === "Cluster")) {
      return listOf(this.get(namespace, name));
    }
    if (!field) return [...this.sorted(namespace)];
    const found = [...(this.#found(this.#fieldIndex(field.path), field.value)?.byName ?? [])];
    // By the keys of the index, because some versions would have to be parsed for each comparison.
    return found.sort(([a], [b]) => compareText(a, b)).map(([, encoded]) => encoded);
  }

  /** The objects under a key of an index, in the order in which they came under it. The array must not be changed. */
  by(name: string, key: string): readonly T[] {
    const found = this.#found(name, key);
    if (!found) return none;
    if (found.objects) return found.objects;
    const objects = [...found.byName.values()].map(({ object }) => object);
    if (this.#keepsObjects) found.objects = objects;
    return objects;
  }

  #found(name: string, key: string): Indexed<T> | undefined {
    const index = this.#indexes.get(name) ?? this.#build(name);
    return index.byKey.get(key);
  }

  addIndex(name: string, keysOf: IndexGetter<T>): void {
    const known = this.#declared.get(name);
    if (known === keysOf) return;
    if (known) throw new Error(`index ${name} of ${this.#resource.plural} exists already`);
    this.#declared.set(name, keysOf);
  }

  version(namespace: string): number {
    return namespace ? (this.#namespaces.get(namespace)?.version ?? 0) : this.#version;
  }

  /** Indexes are built on first use. */
  #build(name: string): Index<T> {
    const keysOf = this.#declared.get(name);
    if (!keysOf) throw new Error(`${this.#resource.plural} have no index ${name}`);
    const index: Index<T> = { keysOf, byKey: new Map() };
    for (const [namespace, { byName }] of this.#namespaces) {
      for (const [objectName, encoded] of byName) reindex(index, `${namespace}/${objectName}`, undefined, encoded);
    }
    this.#indexes.set(name, index);
    return index;
  }

  #fieldIndex(path: string): string {
    const name = `field ${path}`;
    if (!this.#declared.has(name)) {
      const getter = getterOf(this.#resource, path);
      this.#declared.set(name, (object) => [getter(object) ?? ""]);
    }
    return name;
  }
}

function reindex<T extends ApiObject>(
  index: Index<T>,
  name: string,
  previous: EncodedObject<T> | undefined,
  next: EncodedObject<T> | undefined,
): void {
  const keys = next ? hashable(index.keysOf(next.object)) : [];
  for (const key of withoutAll(previous ? hashable(index.keysOf(previous.object)) : [], keys)) {
    const found = index.byKey.get(key);
    if (!found) continue;
    found.objects = undefined;
    found.byName.delete(name);
    if (found.byName.size === 0) index.byKey.delete(key);
  }
  if (!next) return;
  for (const key of keys) {
    const found = index.byKey.get(key);
    if (!found) index.byKey.set(key, { byName: new Map([[name, next]]), objects: undefined });
    else {
      found.objects = undefined;
      found.byName.set(name, next);
    }
  }
}

/** Nobody can select by a longer value. */
const isTooLong = (key: string): boolean => key.length > maxKeyChars;
const hashable = (keys: readonly string[]): readonly string[] =>
  keys.some(isTooLong) ? keys.filter((key) => !isTooLong(key)) : keys;

function sortedOf<T extends ApiObject>(bucket: Bucket<T> | undefined): readonly EncodedObject<T>[] {
  if (!bucket) return [];
  if (!bucket.sorted) {
    const names = [...bucket.byName.keys()].sort(compareText);
    bucket.sorted = names.flatMap((name) => listOf(bucket.byName.get(name)));
  }
  return bucket.sorted;
}

/** An update keeps its place, which is found by name, without parsing the others. */
function replaceSorted<T extends ApiObject>(
  sorted: EncodedObject<T>[],
  previous: EncodedObject<T>,
  next: EncodedObject<T>,
): void {
  const name = next.object.metadata.name ?? "";
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compareText(sorted[middle]?.object.metadata.name ?? "", name) < 0) low = middle + 1;
    else high = middle;
  }
  if (sorted[low] === previous) sorted[low] = next;
}

const none: readonly never[] = [];
const listOf = <V>(value: V | undefined): V[] => (value === undefined ? [] : [value]);
