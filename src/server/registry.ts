import { convertOne } from "#api/conversion.ts";
import { type ApiObject, apiVersionOf, groupOf, type Resource } from "#api/resource.ts";

/** An object, and the version of its kind in which it is. */
export interface InVersion {
  readonly resource: Resource;
  readonly object: ApiObject;
}

/** Every Resource that is served; more can be added and removed at run time. */
export class ResourceRegistry {
  readonly #byPath = new Map<string, Resource>();
  readonly #byGroupVersion = new Map<string, Set<Resource>>();
  readonly #handlers = new Set<() => void>();
  #generation = 0;
  #all: readonly Resource[] | undefined;
  readonly #equivalents = new Map<Resource, readonly Resource[]>();

  constructor(resources: readonly Resource[]) {
    for (const resource of resources) this.add(resource);
  }

  /** Changes whenever a Resource is added or removed: everything derived from `all` must be derived again. */
  get generation(): number {
    return this.#generation;
  }

  /** Takes the place of a Resource with the same group, version and plural name. */
  add(resource: Resource): void {
    const path = pathOf(resource.group, resource.version, resource.plural);
    const old = this.#byPath.get(path);
    if (old) this.#byGroupVersion.get(apiVersionOf(old))?.delete(old);
    this.#byPath.set(path, resource);
    const siblings = this.#byGroupVersion.get(apiVersionOf(resource));
    if (siblings) siblings.add(resource);
    else this.#byGroupVersion.set(apiVersionOf(resource), new Set([resource]));
    this.#changed();
  }

  remove(resource: Resource): void {
    const path = pathOf(resource.group, resource.version, resource.plural);
    if (this.#byPath.get(path) !== resource) return;
    this.#byPath.delete(path);
    const siblings = this.#byGroupVersion.get(apiVersionOf(resource));
    siblings?.delete(resource);
    if (siblings?.size === 0) this.#byGroupVersion.delete(apiVersionOf(resource));
    this.#changed();
  }

  /** Calls the handler after every change. Returns a function that ends this. */
  subscribe(handler: () => void): () => void {
    this.#handlers.add(handler);
    return () => this.#handlers.delete(handler);
  }

  find(group: string, version: string, plural: string): Resource | undefined {
    return this.#byPath.get(pathOf(group, version, plural));
  }

  /** The object in another version of its kind; undefined if that version is not served. A webhook takes its time. */
  convert(
    { plural }: Resource,
    object: ApiObject,
    apiVersion: string,
  ): InVersion | undefined | Promise<InVersion | undefined> {
    const inVersion = (text = "") => this.find(groupOf(text), text.slice(text.indexOf("/") + 1), plural);
    const [from, to] = [inVersion(object.apiVersion), inVersion(apiVersion)];
    if (!from || !to || storedKind(from) !== storedKind(to)) return undefined;
    if (from.conversion && from !== to) {
      const converting = convertOne(from.conversion, object, apiVersion);
      return converting.then((made) => ({ resource: to, object: to.reread?.(made) ?? made }));
    }
    const stored = from.storedAs?.toStored(object) ?? object;
    return { resource: to, object: to.storedAs?.fromStored(stored) ?? stored };
  }

  /** The same kind in its other versions and groups: their objects are the same in the store. */
  equivalents(resource: Resource): readonly Resource[] {
    const stored = storedKind(resource);
    let found = this.#equivalents.get(stored);
    if (!found) {
      found = this.all().filter((other) => storedKind(other) === stored);
      this.#equivalents.set(stored, found);
    }
    return found;
  }

  all(): readonly Resource[] {
    this.#all ??= [...this.#byPath.values()];
    return this.#all;
  }

  ofGroupVersion(groupVersion: string): readonly Resource[] {
    return [...(this.#byGroupVersion.get(groupVersion) ?? [])];
  }

  #changed(): void {
    this.#generation++;
    this.#all = undefined;
    this.#equivalents.clear();
    for (const handler of this.#handlers) handler();
  }
}

const storedKind = (resource: Resource): Resource => resource.storedAs?.resource ?? resource;
const pathOf = (group: string, version: string, plural: string): string => `${group}/${version}/${plural}`;
