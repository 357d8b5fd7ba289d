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
  /** The Resources of groups and versions that another server answers for, by path. */
  readonly #hidden = new Map<string, Map<string, Resource>>();
  readonly #handlers = new Set<() => void>();
  #generation = 0;
  #all: readonly Resource[] | undefined;
  readonly #equivalents = new Map<Resource, readonly Resource[]>();

  /** What this server serves by itself, whatever is stored. */
  readonly builtIn: readonly Resource[];

  constructor(resources: readonly Resource[]) {
    this.builtIn = resources;
    for (const resource of resources) this.add(resource);
  }

  /** Changes whenever a Resource is added or removed: everything derived from `all` must be derived again. */
  get generation(): number {
    return this.#generation;
  }

  /** Takes the place of a Resource with the same group, version and plural name. */
  add(resource: Resource): void {
    const groupVersion = apiVersionOf(resource);
    const path = pathOf(resource.group, resource.version, resource.plural);
    const hidden = this.#hidden.get(groupVersion);
    if (hidden) return void hidden.set(path, resource);
    const old = this.#byPath.get(path);
    if (old) this.#byGroupVersion.get(groupVersion)?.delete(old);
    this.#byPath.set(path, resource);
    const siblings = this.#byGroupVersion.get(groupVersion);
    if (siblings) siblings.add(resource);
    else this.#byGroupVersion.set(groupVersion, new Set([resource]));
    this.#changed();
  }

  remove(resource: Resource): void {
    const groupVersion = apiVersionOf(resource);
    const path = pathOf(resource.group, resource.version, resource.plural);
    const hidden = this.#hidden.get(groupVersion);
    if (hidden?.get(path) === resource) hidden.delete(path);
    if (this.#byPath.get(path) !== resource) return;
    this.#byPath.delete(path);
    const siblings = this.#byGroupVersion.get(groupVersion);
    siblings?.delete(resource);
    if (siblings?.size === 0) this.#byGroupVersion.delete(groupVersion);
    this.#changed();
  }

  /** Another server answers for this group and version: until `show`, its Resources are not found here. */
  hide(groupVersion: string): void {
    if (this.#hidden.has(groupVersion)) return;
    const hidden = new Map<string, Resource>();
    for (const resource of this.#byGroupVersion.get(groupVersion) ?? []) {
      const path = pathOf(resource.group, resource.version, resource.plural);
      hidden.set(path, resource);
      this.#byPath.delete(path);
    }
    this.#byGroupVersion.delete(groupVersion);
    this.#hidden.set(groupVersion, hidden);
    if (hidden.size > 0) this.#changed();
  }

  /** This server answers for the group and version itself again. */
  show(groupVersion: string): void {
    const hidden = this.#hidden.get(groupVersion);
    this.#hidden.delete(groupVersion);
    for (const resource of hidden?.values() ?? []) this.add(resource);
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

  /** What was added to the built-in ones, also if another server answers for it now. */
  custom(): Resource[] {
    const builtIn = new Set(this.builtIn);
    const hidden = [...this.#hidden.values()].flatMap((ofVersion) => [...ofVersion.values()]);
    return [...this.all(), ...hidden].filter((resource) => !builtIn.has(resource));
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
