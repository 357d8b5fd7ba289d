import { Pod } from "#api/core/pod.ts";
import { type PodTemplateSpec } from "#api/core/pod-template.ts";
import { ownerRefTo } from "#api/meta/owner.ts";
import { type InputOf, type Resource, type Stored } from "#api/resource.ts";
import { isConflict, isNotFound } from "#api/status.ts";
import { referenceTo } from "#client/events.ts";
import { isNamespaceEnding } from "#controllers/shared/namespace-ending.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { type ReconcilerDeps } from "#runtime/reconciler.ts";

/** A pod made from a template, owned by the object whose template it is. */
export function podFrom<T extends Stored>(
  resource: Resource<T>,
  owner: T,
  template: PodTemplateSpec | undefined,
): InputOf<Pod> & { metadata: NonNullable<InputOf<Pod>["metadata"]> } {
  const { metadata = {}, spec = {} } = template ?? {};
  const { labels, annotations, finalizers } = metadata;
  return {
    metadata: {
      namespace: owner.metadata.namespace ?? "",
      generateName: `${owner.metadata.name}-`,
      ...(labels ? { labels } : {}),
      ...(annotations ? { annotations } : {}),
      ...(finalizers ? { finalizers } : {}),
      ownerReferences: [ownerRefTo(resource, owner)],
    },
    spec,
  };
}

export interface PodOwner<T extends Stored> {
  readonly resource: Resource<T>;
  readonly owner: T;
  /** What the events say; default: as most controllers say it. */
  readonly texts?: PodTexts;
}

export interface PodTexts {
  created(pod: string): string;
  notCreated(pod: string, error: string): string;
  deleted(pod: string): string;
  notDeleted(pod: string, error: string): string;
}

const usualTexts: PodTexts = {
  created: (pod) => `Created pod: ${pod}`,
  notCreated: (_, error) => `Error creating: ${error}`,
  deleted: (pod) => `Deleted pod: ${pod}`,
  notDeleted: (_, error) => `Error deleting: ${error}`,
};

/** Creates and deletes the pods of an object, and reports it in the object's events. */
export class PodWriter<T extends Stored> {
  readonly #deps: Pick<ReconcilerDeps, "client" | "events">;
  readonly #about: ReturnType<typeof referenceTo>;
  readonly #texts: PodTexts;
  readonly #signal: AbortSignal;

  constructor(
    deps: Pick<ReconcilerDeps, "client" | "events">,
    { resource, owner, texts = usualTexts }: PodOwner<T>,
    signal: AbortSignal,
  ) {
    this.#deps = deps;
    this.#about = referenceTo(resource, owner);
    this.#texts = texts;
    this.#signal = signal;
  }

  /** Undefined if its namespace is ending: every attempt will fail, so there is nothing to report or wait for. */
  async create(pod: InputOf<Pod>): Promise<Pod | undefined> {
    try {
      const created = await this.#deps.client.create(Pod, pod, { signal: this.#signal });
      this.#tell("Normal", "SuccessfulCreate", this.#texts.created(created.metadata.name));
      return created;
    } catch (error) {
      if (isNamespaceEnding(error)) return undefined;
      this.#tell("Warning", "FailedCreate", this.#texts.notCreated(pod.metadata?.name ?? "", messageOf(error)));
      throw error;
    }
  }

  async remove(pod: Pod): Promise<void> {
    await this.#remove(pod, { uid: pod.metadata.uid });
  }

  /** Throws a conflict, and tells nothing of it, if the pod is no longer as it was seen: it may just have ended. */
  async removeUnchanged(pod: Pod): Promise<void> {
    const { uid, resourceVersion } = pod.metadata;
    await this.#remove(pod, { uid, resourceVersion });
  }

  async #remove(pod: Pod, preconditions: { readonly uid: string; readonly resourceVersion?: string }): Promise<void> {
    const { name } = pod.metadata;
    try {
      await this.#deps.client.delete(Pod, pod, { preconditions, signal: this.#signal });
      this.#tell("Normal", "SuccessfulDelete", this.#texts.deleted(name));
    } catch (error) {
      if (isNotFound(error)) return;
      if (preconditions.resourceVersion && isConflict(error)) throw error;
      this.#tell("Warning", "FailedDelete", this.#texts.notDeleted(name, messageOf(error)));
      throw error;
    }
  }

  #tell(type: "Normal" | "Warning", reason: string, message: string): void {
    if (!this.#signal.aborted) this.#deps.events.event(this.#about, type, reason, message);
  }
}
