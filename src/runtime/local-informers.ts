import { type ApiObject, type Resource } from "#api/resource.ts";
import { scopedInformer } from "./filtered-informer.ts";
import { type Informer, type InformerScope, type Informers } from "./informer.ts";

/** Has a complete copy of every Resource: the server, in its own process. */
export interface InformerSource {
  of<T extends ApiObject>(resource: Resource<T>): Informer<T>;
}

const everything: InformerScope = {};

/** The source's own informers, without a copy; those with a scope are views of them. */
export function localInformers(source: InformerSource): Informers {
  const asked = new Map<string, Informer>();
  /** Informers without a scope, which every reconcile and every admission uses. */
  const whole = new WeakMap<object, Informer>();
  return {
    of<T extends ApiObject>(resource: Resource<T>, scope: InformerScope = everything): Informer<T> {
      const own = scope === everything ? whole.get(resource) : undefined;
      if (own) return own as unknown as Informer<T>;
      const { namespace, labelSelector, fieldSelector } = scope;
      const key = [resource.group, resource.plural, namespace, labelSelector, fieldSelector].join("|");
      const known = asked.get(key);
      // The key guarantees that these are the resource's objects.
      const informer = known ?? (scopedInformer(source.of(resource), scope) as unknown as Informer);
      asked.set(key, informer);
      if (scope === everything) whole.set(resource, informer);
      return informer as unknown as Informer<T>;
    },
    async synced(signal) {
      await Promise.all(Array.from(asked.values(), (informer) => informer.synced(signal)));
    },
    // The source owns the informers, and they live as long as it does.
    async [Symbol.asyncDispose]() {},
  };
}
