import { isFinished } from "#api/core/pod/pod-state.ts";
import type { PodStatus } from "#api/core/pod/pod-status.ts";
import { Pod } from "#api/core/pod.ts";
import { faultsIn } from "#api/cursor.ts";
import type { InputOf } from "#api/resource.ts";
import { conflict, invalid, notFound } from "#api/status.ts";
import type { PodObjects } from "#kubelet/pod/pod-objects.ts";
import { type Clock, timestamp } from "#lib/async/clock.ts";
import { cloneJson } from "#lib/text/json.ts";
import { build } from "../build.ts";

/** A change of the pod, as the node receives it. */
export type PodNews = { readonly type: "put" | "delete"; readonly object: Pod };

export interface ApiHooks {
  heard(news: PodNews): void;
  /** Called when a status was accepted. */
  accepted(pod: Pod): void;
  /** Called when the kubelet removes the object. */
  removing(): void;
}

/** An API with one pod: with versions, grace periods, and the server's own validation of statuses. */
export class ModelApi {
  readonly #clock: Clock;
  readonly #hooks: ApiHooks;
  /** Why statuses were refused. */
  readonly refusals: string[] = [];
  removals = 0;
  #pod: Pod | undefined;
  #version = 1;

  constructor(clock: Clock, hooks: ApiHooks) {
    this.#clock = clock;
    this.#hooks = hooks;
  }

  get pod(): Pod | undefined {
    return this.#pod;
  }

  create(spec: InputOf<Pod>["spec"]): void {
    const metadata = { name: "web", namespace: "default", uid: "uid-web", generation: 1, resourceVersion: "1" };
    this.#put(build(Pod, { metadata, spec: { nodeName: "node-1", ...spec }, status: { phase: "Pending" } }));
  }

  /** Deletes the pod as a user would. */
  delete(graceSeconds: number): void {
    const pod = this.#pod;
    if (!pod) return;
    const { deletionGracePeriodSeconds: before = Number.POSITIVE_INFINITY } = pod.metadata;
    if (graceSeconds === 0 || isFinished(pod)) return this.#drop(pod);
    if (graceSeconds >= before) return;
    const deletionTimestamp = timestamp(this.#clock.now() + graceSeconds * 1000);
    this.#put({ ...pod, metadata: { ...pod.metadata, deletionTimestamp, deletionGracePeriodSeconds: graceSeconds } });
  }

  /** Changes the pod as a user would, so that statuses based on an older version conflict. */
  touch(): void {
    const pod = this.#pod;
    if (pod) this.#put({ ...pod, metadata: { ...pod.metadata, labels: { version: String(this.#version) } } });
  }

  readonly objects: PodObjects = {
    writeStatus: async (pod, status) => this.#writeStatus(pod, status),
    read: async () => this.#here(),
    remove: async () => {
      if (!this.#pod) return;
      this.removals++;
      this.#hooks.removing();
      this.#drop(this.#pod);
    },
  };

  #writeStatus({ metadata }: Pod, status: PodStatus): Pod {
    const old = this.#here();
    if (metadata.resourceVersion !== old.metadata.resourceVersion) throw conflict(Pod, "web", "it has changed");
    const next = cloneJson({ ...old, status });
    Pod.prepareForStatusUpdate?.(next, old);
    const faults = faultsIn(next, (at) => Pod.validateStatusUpdate?.(at, old));
    if (faults.length > 0) {
      this.refusals.push(faults.map(({ path, message }) => `${path}: ${message}`).join("; "));
      throw invalid(Pod, "web", faults);
    }
    this.#hooks.accepted(next);
    return this.#put(next);
  }

  #here(): Pod {
    if (!this.#pod) throw notFound(Pod, "web");
    return this.#pod;
  }

  #put(pod: Pod): Pod {
    const metadata = { ...pod.metadata, resourceVersion: String(++this.#version) };
    this.#pod = { ...pod, metadata };
    this.#hooks.heard({ type: "put", object: this.#pod });
    return this.#pod;
  }

  #drop(pod: Pod): void {
    this.#pod = undefined;
    this.#hooks.heard({ type: "delete", object: pod });
  }
}
