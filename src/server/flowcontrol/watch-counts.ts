import { parseFieldSelector, requiredField } from "#api/meta/field-selector.ts";
import { type Context, type RequestInfo } from "#server/request/pipeline.ts";

/** Watches of pods of one node are looked up by the node, so an event visits only few of them. */
const indexedFields = new Map([["pods", "spec.nodeName"]]);

/** Counts the open watches, by kind, namespace and name. */
export class WatchCounts {
  readonly #counts = new Map<string, number>();

  /** Returns a function that ends the count. */
  add({ info, query }: Context): () => void {
    const fields = fieldsOf(query);
    const indexed = indexedFields.get(info.resource);
    if (indexed && requiredField(fields, indexed)) return () => {};
    const name = info.name || (requiredField(fields, "metadata.name") ?? "");
    const key = keyOf(info, info.namespace, name);
    this.#change(key, 1);
    let isOpen = true;
    return () => {
      if (isOpen) this.#change(key, -1);
      isOpen = false;
    };
  }

  /** The watches that may get the event of a write. */
  interestedIn(info: RequestInfo): number {
    if (this.#counts.size === 0 || (info.resource === "serviceaccounts" && info.subresource === "token")) return 0;
    let sum = this.#counts.get(keyOf(info, "", "")) ?? 0;
    if (info.namespace) sum += this.#counts.get(keyOf(info, info.namespace, "")) ?? 0;
    if (info.name) sum += this.#counts.get(keyOf(info, info.namespace, info.name)) ?? 0;
    return sum;
  }

  #change(key: string, by: number): void {
    const count = (this.#counts.get(key) ?? 0) + by;
    if (count > 0) this.#counts.set(key, count);
    else this.#counts.delete(key);
  }
}

function fieldsOf(query: URLSearchParams) {
  try {
    return parseFieldSelector(query.get("fieldSelector") ?? "");
  } catch {
    return [];
  }
}

/** A name in a path may contain anything, so the length says where the namespace ends. */
const keyOf = ({ group, resource }: RequestInfo, namespace: string, name: string): string =>
  `${group}/${resource}/${namespace.length}/${namespace}/${name}`;
