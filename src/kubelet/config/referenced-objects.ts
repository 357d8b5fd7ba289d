import { ConfigMap } from "#api/core/config-map.ts";
import { Secret } from "#api/core/secret.ts";
import type { ApiObject, Resource } from "#api/resource.ts";
import { isForbidden } from "#api/status.ts";
import type { Client } from "#client/client.ts";
import type { Clock } from "#lib/async/clock.ts";
import { isAbort, orAborted } from "#lib/async/tasks.ts";
import { follow, listWatch } from "#runtime/watcher.ts";

export interface ReferencedDeps {
  readonly client: Client;
  readonly clock: Clock;
  /** An object that these pods refer to was created, changed or deleted. */
  changed(podUids: ReadonlySet<string>): void;
}

interface Followed {
  readonly users: Set<string>;
  readonly stop: AbortController;
  /** Settles with the first answer. */
  readonly first: PromiseWithResolvers<void>;
  object: ApiObject | undefined;
}

/**
 * The objects that this node's pods refer to. Each is watched by name while a pod needs it, because a node may read no
 * others.
 */
export class ReferencedObjects implements Disposable {
  readonly #deps: ReferencedDeps;
  readonly #followed = new Map<string, Followed>();
  /** What each pod refers to, by UID. */
  readonly #byPod = new Map<string, Set<string>>();

  constructor(deps: ReferencedDeps) {
    this.#deps = deps;
  }

  configMap = (namespace: string, name: string, podUid: string): Promise<ConfigMap | undefined> =>
    this.#get(ConfigMap, { namespace, name }, podUid);
  secret = (namespace: string, name: string, podUid: string): Promise<Secret | undefined> =>
    this.#get(Secret, { namespace, name }, podUid);

  /** The pod is gone. */
  release(podUid: string): void {
    for (const key of this.#byPod.get(podUid) ?? []) {
      const followed = this.#followed.get(key);
      if (!followed?.users.delete(podUid) || followed.users.size > 0) continue;
      followed.stop.abort(new Error("no pod refers to it any more"));
      this.#followed.delete(key);
    }
    this.#byPod.delete(podUid);
  }

  [Symbol.dispose](): void {
    for (const { stop } of this.#followed.values()) stop.abort(new Error("the kubelet ends"));
    this.#followed.clear();
  }

  async #get<T extends ApiObject>(
    resource: Resource<T>,
    ref: { namespace: string; name: string },
    podUid: string,
  ): Promise<T | undefined> {
    const key = `${resource.plural}/${ref.namespace}/${ref.name}`;
    this.#note(key, podUid);
    let followed = this.#followed.get(key);
    if (!followed) {
      followed = {
        users: new Set(),
        stop: new AbortController(),
        first: Promise.withResolvers<void>(),
        object: undefined,
      };
      this.#followed.set(key, followed);
      void this.#follow(resource, ref, followed);
    }
    followed.users.add(podUid);
    try {
      await orAborted(followed.first.promise, followed.stop.signal);
    } catch (error) {
      // The next request must ask the server again, and this attempt must not continue beside it.
      if (this.#followed.get(key) === followed) this.#followed.delete(key);
      followed.stop.abort(error);
      throw error;
    }
    // The key includes the resource, so the object is of this type.
    return followed.object as T | undefined;
  }

  /** Limited, because each object costs a watch and a pod can name tens of thousands. */
  #note(key: string, podUid: string): void {
    const keys = this.#byPod.get(podUid) ?? new Set<string>();
    this.#byPod.set(podUid, keys);
    if (!keys.has(key) && keys.size >= maxPerPod) {
      throw new Error(`the pod refers to more than ${maxPerPod} config maps and secrets`);
    }
    keys.add(key);
  }

  async #follow<T extends ApiObject>(
    resource: Resource<T>,
    { namespace, name }: { namespace: string; name: string },
    followed: Followed,
  ): Promise<void> {
    const { signal } = followed.stop;
    const source = listWatch(this.#deps.client, resource, { namespace, fieldSelector: `metadata.name=${name}` });
    const pause = async (error: unknown) => {
      if (error !== undefined && !isAbort(error, signal)) followed.first.reject(error);
      if (isForbidden(error)) followed.stop.abort(error);
      await this.#deps.clock.sleep(retryMs, signal);
    };
    // The caller gets this rejection; the handler only prevents an unhandled one.
    followed.first.promise.catch(() => {});
    for await (const update of follow(source, pause, signal)) {
      if (update.type === "bookmark") continue;
      const isNews = followed.object !== undefined || update.type !== "replace";
      followed.object = update.type === "put" ? update.object : update.type === "replace" ? update.items[0] : undefined;
      followed.first.resolve();
      if (isNews) this.#deps.changed(followed.users);
    }
  }
}

const retryMs = 1000;
const maxPerPod = 1000;
