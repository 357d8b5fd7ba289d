import { type APIService } from "#api/apiregistration/api-service.ts";
import { type ResourceRegistry } from "../registry.ts";
import { RemoteApi, type RemoteDeps, type ServiceRef } from "./remote-api.ts";

export interface RemoteApisDeps extends RemoteDeps {
  readonly resources: ResourceRegistry;
}

/** Nobody can hand over the group by which everything else is handed over. */
const ownGroup = "apiregistration.k8s.io";

/** Whether another server is to answer for this group and version. */
export const isRemote = ({ spec }: APIService): boolean => Boolean(spec.service) && spec.group !== ownGroup;

/** The groups and versions that other servers serve, as the APIServices say. */
export class RemoteApis {
  readonly #deps: RemoteApisDeps;
  readonly #byName = new Map<string, RemoteApi>();
  readonly #byGroupVersion = new Map<string, RemoteApi>();
  readonly #handlers = new Set<(name: string) => void>();

  constructor(deps: RemoteApisDeps) {
    this.#deps = deps;
  }

  /** Takes a new or changed APIService, which may have become local. */
  put(object: APIService): void {
    const { name } = object.metadata;
    if (!isRemote(object)) return this.delete(name);
    const known = this.#byName.get(name);
    if (!known?.update(object)) {
      known?.connections.retire();
      const api = new RemoteApi(object, this.#deps);
      this.#byName.set(name, api);
      this.#byGroupVersion.set(api.groupVersion, api);
      this.#deps.resources.hide(api.groupVersion);
    }
    this.#changed(name);
  }

  delete(name: string): void {
    const known = this.#byName.get(name);
    if (!known) return;
    known.connections.retire();
    this.#byName.delete(name);
    this.#byGroupVersion.delete(known.groupVersion);
    this.#deps.resources.show(known.groupVersion);
    this.#changed(name);
  }

  get(name: string): RemoteApi | undefined {
    return this.#byName.get(name);
  }

  find(group: string, version: string): RemoteApi | undefined {
    return this.#byGroupVersion.get(group ? `${group}/${version}` : version);
  }

  all(): Iterable<RemoteApi> {
    return this.#byName.values();
  }

  /** Calls the handler with the name of every APIService that has changed. Returns a function that ends this. */
  subscribe(handler: (name: string) => void): () => void {
    this.#handlers.add(handler);
    return () => this.#handlers.delete(handler);
  }

  /** The names of the APIServices that a service stands for. */
  servedBy({ namespace, name }: Pick<ServiceRef, "namespace" | "name">): string[] {
    const served: string[] = [];
    for (const api of this.#byName.values())
      if (api.service.namespace === namespace && api.service.name === name) served.push(api.name);
    return served;
  }

  #changed(name: string): void {
    for (const handler of this.#handlers) handler(name);
  }
}
