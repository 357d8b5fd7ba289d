import { Namespace } from "#api/core/namespace.ts";
import { Service } from "#api/core/service.ts";
import { EndpointSlice } from "#api/discovery/endpoint-slice.ts";
import { canonicalAddress } from "#api/meta/ip-address.ts";
import { type ApiObject } from "#api/resource.ts";
import { type Informer, type Informers } from "#runtime/informer.ts";
import { type ClusterView } from "./records.ts";

/** The cluster's names as the informers currently have them. Disposing it stops watching. */
export function openClusterView(informers: Informers): ClusterView & Disposable {
  const namespaces = informers.of(Namespace);
  const services = informers.of(Service);
  const slices = informers.of(EndpointSlice);
  const serviceAddresses = new AddressIndex(services, ({ spec }) => spec.clusterIPs ?? [spec.clusterIP ?? ""]);
  const endpointAddresses = new AddressIndex(slices, ({ endpoints }) =>
    endpoints.flatMap(({ addresses }) => addresses),
  );
  return {
    hasNamespace: (name) => namespaces.get({ name }) !== undefined,
    service: (namespace, name) => services.get({ namespace, name }),
    slices: (namespace, name) => slices.by("service", `${namespace}/${name}`),
    servicesAt: (address) => serviceAddresses.at(address),
    slicesAt: (address) => endpointAddresses.at(address),
    [Symbol.dispose]() {
      serviceAddresses.stop();
      endpointAddresses.stop();
    },
  };
}

/** Indexes the objects of an informer by address. */
class AddressIndex<T extends ApiObject> {
  readonly stop: () => void;
  readonly #addressesOf: (object: T) => readonly string[];
  /** Address, object key, object. */
  readonly #found = new Map<string, Map<string, T>>();

  constructor(informer: Informer<T>, addressesOf: (object: T) => readonly string[]) {
    this.#addressesOf = addressesOf;
    this.stop = informer.subscribe((change) => {
      const gone = change.type === "delete" ? change.object : change.previous;
      if (gone) this.#remove(gone);
      if (change.type === "put") this.#add(change.object);
    });
  }
  at(address: string): T[] {
    return [...(this.#found.get(address)?.values() ?? [])];
  }
  #add(object: T): void {
    for (const address of this.#canonical(object)) {
      const objects = this.#found.get(address);
      if (objects) objects.set(keyOf(object), object);
      else this.#found.set(address, new Map([[keyOf(object), object]]));
    }
  }
  #remove(object: T): void {
    for (const address of this.#canonical(object)) {
      const objects = this.#found.get(address);
      objects?.delete(keyOf(object));
      if (objects?.size === 0) this.#found.delete(address);
    }
  }
  #canonical = (object: T): string[] => this.#addressesOf(object).flatMap((address) => canonicalAddress(address) ?? []);
}

const keyOf = ({ metadata }: ApiObject): string => `${metadata.namespace}/${metadata.name}`;
