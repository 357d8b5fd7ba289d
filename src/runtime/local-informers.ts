import { type ApiObject, type Resource } from "#api/resource.ts";
import { scopedInformer } from "./filtered-informer.ts";
import { type Informer, type InformerScope, type Informers } from "./informer.ts";

/** Has a complete copy of every Resource: the server, in its own process. */
export interface InformerSource {
  of<T extends ApiObject>(resource: Resource<T>): Informer<T>;
}

export interface LocalInformers extends Informers {
  /** Drops the informers of a kind that no longer exists. */
  forget(resource: Resource): void;
}

const everything: InformerScope = {};

/** The source's own informers, without a copy; those with a scope are views of them. */
export function localInformers(source: InformerSource): LocalInformers {
  const asked = new Map<object, Map<string, Informer>>();
  /** Informers without a scope, which every reconcile and every admission uses. */
  const whole = new WeakMap<object, Informer>();
  return {
    of<T extends ApiObject>(resource: Resource<T>, scope: InformerScope = everything): Informer<T> {
      const own = scope === everything ? whole.get(resource) : undefined;
      if (own) return own as unknown as Informer<T>;
      const { namespace, labelSelector, fieldSelector } = scope;
      const key = [namespace, labelSelector, fieldSelector].join("|");
      const ofKind = asked.get(resource) ?? new Map<string, Informer>();
      asked.set(resource, ofKind);
      const informer = ofKind.get(key) ?? (scopedInformer(source.of(resource), scope) as unknown as Informer);
      ofKind.set(key, informer);
      if (scope === everything) whole.set(resource, informer);
      return informer as unknown as Informer<T>;
    },
    async synced(signal) {
      const all = [...asked.values()].flatMap((ofKind) => [...ofKind.values()]);
      await Promise.all(all.map((informer) => informer.synced(signal)));
    },
    forget(resource) {
      asked.delete(resource);
      whole.delete(resource);
    },
    // The source owns the informers, and they live as long as it does.
    async [Symbol.asyncDispose]() {},
  };
}
