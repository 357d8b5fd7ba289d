import { type Pod } from "#api/core/pod.ts";
import { lookAcross } from "../across.ts";
import { type PluginRejection } from "../explain.ts";
import { type SchedulerPlugin } from "../framework.ts";
import { type Judge } from "../judge.ts";
import { changeCopy, copyOf, type NodeInfo, type Snapshot } from "../snapshot.ts";

export interface WhatIfDeps {
  readonly plugins: readonly SchedulerPlugin[];
  readonly snapshot: Snapshot;
  readonly judge: Judge;
}

/**
 * One node as it would be with other pods on it. Counts of the whole cluster change with it until it is disposed, so
 * only one may exist at a time, and nothing else may be decided meanwhile.
 */
export class WhatIf implements Disposable {
  readonly #plugins: readonly SchedulerPlugin[];
  readonly #snapshot: Snapshot;
  readonly #judge: Judge;
  readonly #pod: Pod;
  readonly #info: NodeInfo;
  readonly #copy: NodeInfo;
  /** Pod → how to end what is supposed about it. */
  readonly #supposed = new Map<string, () => void>();

  /** `judge` is prepared for the pod. */
  constructor({ plugins, snapshot, judge }: WhatIfDeps, pod: Pod, info: NodeInfo) {
    this.#plugins = plugins;
    this.#snapshot = snapshot;
    this.#pod = pod;
    this.#info = info;
    this.#copy = copyOf(info);
    this.#judge = judge;
  }

  add(key: string, pod: Pod): void {
    this.#change(key, pod, 1);
  }

  remove(key: string, pod: Pod): void {
    this.#change(key, pod, -1);
  }

  /** Returns undefined if the pod fits. */
  rejection(): PluginRejection | undefined {
    const rejection = this.#judge.filter(this.#pod, this.#copy);
    return rejection ?? lookAcross(this.#plugins, this.#pod, this.#snapshot)?.filter(this.#info.slot);
  }

  [Symbol.dispose](): void {
    for (const end of this.#supposed.values()) end();
  }

  #change(key: string, pod: Pod, sign: 1 | -1): void {
    changeCopy(this.#copy, key, pod, sign);
    const end = this.#supposed.get(key);
    if (!end) {
      this.#supposed.set(key, this.#snapshot.topology.suppose(pod, this.#info, sign));
      return;
    }
    // A pod is added and removed in turn, so this takes back what was supposed.
    end();
    this.#supposed.delete(key);
  }
}
