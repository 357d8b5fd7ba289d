import { type Pod } from "#api/core/pod.ts";
import { lookAcross } from "../across.ts";
import { type PluginRejection } from "../explain.ts";
import { type SchedulerPlugin } from "../framework.ts";
import { Judge } from "../judge.ts";
import { changeCopy, copyOf, type NodeInfo, type Snapshot } from "../snapshot.ts";

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
  readonly #changes = new Map<string, { readonly pod: Pod; sign: 1 | 0 | -1 }>();

  constructor(plugins: readonly SchedulerPlugin[], snapshot: Snapshot, pod: Pod, info: NodeInfo) {
    this.#plugins = plugins;
    this.#snapshot = snapshot;
    this.#pod = pod;
    this.#info = info;
    this.#copy = copyOf(info);
    this.#judge = new Judge(plugins, snapshot);
    this.#judge.prepare(pod);
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
    for (const { pod, sign } of this.#changes.values()) {
      if (sign !== 0) this.#snapshot.topology.podChanged(pod, this.#info, sign === 1 ? -1 : 1);
    }
  }

  #change(key: string, pod: Pod, sign: 1 | -1): void {
    changeCopy(this.#copy, key, pod, sign);
    this.#snapshot.topology.podChanged(pod, this.#info, sign);
    const known = this.#changes.get(key);
    if (known) known.sign = (known.sign + sign) as 1 | 0 | -1;
    else this.#changes.set(key, { pod, sign });
  }
}
