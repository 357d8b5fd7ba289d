import { type ApiObject, type Resource } from "#api/resource.ts";
import { scopedInformer } from "./filtered-informer.ts";
import { type Informer, type InformerScope, type Informers } from "./informer.ts";

/** Who has a whole copy of every Resource: the server, in its own process. */
export interface InformerSource {
  of<T extends ApiObject>(resource: Resource<T>): Informer<T>;
}

const everything: InformerScope = {};

/** Informers that are the source's own, uncopied; those with a scope are views of them. */
export function localInformers(source: InformerSource): Informers {
  const asked = new Map<string, Informer>();
  /** Those without a scope, which are asked for in every reconcile and every admission. */
  const whole = new WeakMap<object, Informer>();
  return {
    of<T extends ApiObject>(resource: Resource<T>, scope: InformerScope = everything): Informer<T> {
      const own = scope === everything ? whole.get(resource) : undefined;
      if (own) return own as unknown as Informer<T>;
      const { namespace, labelSelector, fieldSelector } = scope;
      const key = [resource.group, resource.plural, namespace, labelSelector, fieldSelector].join("|");
      const known = asked.get(key);
      // The key says whose objects these are.
      const informer = known ?? (scopedInformer(source.of(resource), scope) as unknown as Informer);
      asked.set(key, informer);
      if (scope === everything) whole.set(resource, informer);
      return informer as unknown as Informer<T>;
    },
    async synced(signal) {
      await Promise.all(Array.from(asked.values(), (informer) => informer.synced(signal)));
    },
    // The copies are the source's, and live as long as it does.
    async [Symbol.asyncDispose]() {},
  };
}
