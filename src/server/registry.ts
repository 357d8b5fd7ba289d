import { type ApiObject, apiVersionOf, groupOf, type Resource } from "#api/resource.ts";

/** Every Resource that is served; more can be added and removed at run time. */
export class ResourceRegistry {
  readonly #byPath = new Map<string, Resource>();
  #generation = 0;

  constructor(resources: readonly Resource[]) {
    for (const resource of resources) this.add(resource);
  }

  /** Changes whenever a Resource is added or removed: everything derived from `all` must be derived again. */
  get generation(): number {
    return this.#generation;
  }

  add(resource: Resource): void {
    this.#byPath.set(pathOf(resource.group, resource.version, resource.plural), resource);
    this.#generation++;
  }

  remove(resource: Resource): void {
    this.#byPath.delete(pathOf(resource.group, resource.version, resource.plural));
    this.#generation++;
  }

  find(group: string, version: string, plural: string): Resource | undefined {
    return this.#byPath.get(pathOf(group, version, plural));
  }

  /** The object in another version of its kind; undefined if that version is not served. */
  convert(
    { plural }: Resource,
    object: ApiObject,
    apiVersion: string,
  ): { resource: Resource; object: ApiObject } | undefined {
    const inVersion = (text = "") => this.find(groupOf(text), text.slice(text.indexOf("/") + 1), plural);
    const [from, to] = [inVersion(object.apiVersion), inVersion(apiVersion)];
    if (!from || !to || storedKind(from) !== storedKind(to)) return undefined;
    const stored = from.storedAs?.toStored(object) ?? object;
    return { resource: to, object: to.storedAs?.fromStored(stored) ?? stored };
  }

  all(): readonly Resource[] {
    return [...this.#byPath.values()];
  }

  ofGroupVersion(groupVersion: string): readonly Resource[] {
    return this.all().filter((resource) => apiVersionOf(resource) === groupVersion);
  }
}

const storedKind = (resource: Resource): Resource => resource.storedAs?.resource ?? resource;
const pathOf = (group: string, version: string, plural: string): string => `${group}/${version}/${plural}`;
