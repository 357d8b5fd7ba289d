import { type APIService } from "#api/apiregistration/api-service.ts";
import { equal } from "#lib/data/equal.ts";
import { type ResourceRegistry } from "../registry.ts";
import { type RemoteVersion, type VersionDiscovery } from "../remote-routes.ts";
import { RemoteApi, type RemoteDeps, type ServiceRef } from "./remote-api.ts";

export interface RemoteApisDeps extends RemoteDeps {
  readonly resources: ResourceRegistry;
}

/** Nobody can hand over the group by which everything else is handed over. */
const ownGroup = "apiregistration.k8s.io";

/** How large the OpenAPI documents of all servers may be in total. Those that do not fit are left out. */
const maxOpenApiBytes = 16 << 20;

/** Whether another server is to answer for this group and version. */
export const isRemote = ({ spec }: APIService): boolean => Boolean(spec.service) && spec.group !== ownGroup;

/** What the server of a group and version has said about it. */
export interface Described extends VersionDiscovery {
  /** It does not answer. */
  readonly isStale: boolean;
}

/** The groups and versions that other servers serve, as the APIServices say. */
export class RemoteApis {
  readonly #deps: RemoteApisDeps;
  readonly #byName = new Map<string, RemoteApi>();
  readonly #byGroupVersion = new Map<string, RemoteApi>();
  readonly #described = new Map<string, Described>();
  readonly #handlers = new Set<() => void>();
  #generation = 0;

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
      this.#changed();
    }
  }

  delete(name: string): void {
    const known = this.#byName.get(name);
    if (!known) return;
    known.connections.retire();
    this.#byName.delete(name);
    this.#byGroupVersion.delete(known.groupVersion);
    this.#described.delete(name);
    this.#deps.resources.show(known.groupVersion);
    this.#changed();
  }

  get(name: string): RemoteApi | undefined {
    return this.#byName.get(name);
  }

  find(group: string, version: string): RemoteApi | undefined {
    return this.#byGroupVersion.get(group ? `${group}/${version}` : version);
  }

  /** Takes what the server of an APIService says about itself. */
  describe(name: string, described: Described): void {
    if (!this.#byName.has(name)) return;
    const kept = this.#hasRoomFor(name, described) ? described : { ...described, openApiV2: undefined };
    if (equal(this.#described.get(name), kept)) return;
    this.#described.set(name, kept);
    this.#changed();
  }

  #hasRoomFor(name: string, { openApiV2 }: Described): boolean {
    let bytes = openApiV2?.bytes ?? 0;
    for (const [other, described] of this.#described) if (other !== name) bytes += described.openApiV2?.bytes ?? 0;
    return bytes <= maxOpenApiBytes;
  }

  /** Everything that is known about the groups and versions. Nothing is, before their servers have answered. */
  versions(): RemoteVersion[] {
    return Array.from(this.#byName.values(), ({ name, group, version, service }) => ({
      group,
      server: `${service.namespace}/${service.name}:${service.port}`,
      ...(this.#described.get(name) ?? { version, resources: [], isStale: true }),
    }));
  }

  /** Changes with what `versions` returns. */
  get generation(): number {
    return this.#generation;
  }

  /** Calls the handler after every change of `versions`. Returns a function that ends this. */
  subscribe(handler: () => void): () => void {
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

  #changed(): void {
    this.#generation++;
    for (const handler of this.#handlers) handler();
  }
}
