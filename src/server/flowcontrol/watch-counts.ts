import { parseFieldSelector, requiredField } from "#api/meta/field-selector.ts";
import { type Context, type RequestInfo } from "#server/request/pipeline.ts";

/** Watches of pods of one node are looked up by the node, so an event visits only few of them. */
const indexedFields = new Map([["pods", "spec.nodeName"]]);

/** The open watches of one kind. */
interface OfKind {
  /** Of all namespaces, and of each of them. */
  readonly byNamespace: Map<string, number>;
  /** Of one object. */
  readonly byName: Map<string, number>;
}

/** Counts the open watches, by kind, namespace and name. */
export class WatchCounts {
  /** Plural → group → counts. Every write asks here, so no key is put together for kinds that nobody watches. */
  readonly #kinds = new Map<string, Map<string, OfKind>>();

  /** Returns a function that ends the count. */
  add({ info, query }: Context): () => void {
    const fields = fieldsOf(query);
    const indexed = indexedFields.get(info.resource);
    if (indexed && requiredField(fields, indexed)) return () => {};
    const name = info.name || (requiredField(fields, "metadata.name") ?? "");
    const { resource, group, namespace } = info;
    this.#change({ resource, group, namespace, name }, 1);
    let isOpen = true;
    return () => {
      if (isOpen) this.#change({ resource, group, namespace, name }, -1);
      isOpen = false;
    };
  }

  /** The watches that may get the event of a write. */
  interestedIn(info: RequestInfo): number {
    const { resource, group, subresource, namespace, name } = info;
    const watches = this.#kinds.get(resource)?.get(group);
    if (!watches || (resource === "serviceaccounts" && subresource === "token")) return 0;
    const { byNamespace, byName } = watches;
    let sum = byNamespace.get("") ?? 0;
    if (namespace) sum += byNamespace.get(namespace) ?? 0;
    if (name && byName.size > 0) sum += byName.get(keyOf(namespace, name)) ?? 0;
    return sum;
  }

  #change({ resource, group, namespace, name }: Watched, by: 1 | -1): void {
    const ofGroups = this.#kinds.get(resource) ?? new Map<string, OfKind>();
    const watches = ofGroups.get(group) ?? { byNamespace: new Map(), byName: new Map() };
    if (name) addTo(watches.byName, keyOf(namespace, name), by);
    else addTo(watches.byNamespace, namespace, by);
    if (watches.byName.size + watches.byNamespace.size > 0) ofGroups.set(group, watches);
    else ofGroups.delete(group);
    if (ofGroups.size > 0) this.#kinds.set(resource, ofGroups);
    else this.#kinds.delete(resource);
  }
}

type Watched = Pick<RequestInfo, "resource" | "group" | "namespace" | "name">;

function addTo(counts: Map<string, number>, key: string, by: 1 | -1): void {
  const count = (counts.get(key) ?? 0) + by;
  if (count > 0) counts.set(key, count);
  else counts.delete(key);
}

function fieldsOf(query: URLSearchParams) {
  try {
    return parseFieldSelector(query.get("fieldSelector") ?? "");
  } catch {
    return [];
  }
}

/** A name in a path may contain anything, so the length says where the namespace ends. */
const keyOf = (namespace: string, name: string): string => `${namespace.length}/${namespace}/${name}`;
