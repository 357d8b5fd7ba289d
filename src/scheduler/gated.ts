import { type Pod } from "#api/core/pod.ts";
import { type SchedulerPlugin } from "./framework.ts";

/** A pod that may not enter the queue yet. */
export interface GatedPod {
  readonly key: string;
  readonly pod: Pod;
  readonly plugin: string;
  readonly reason: string;
  readonly group: string | undefined;
}

/** Pods that plugins keep out of the queue. */
export class Gated {
  readonly #byKey = new Map<string, GatedPod>();
  readonly #byGroup = new Map<string, Set<string>>();

  get(key: string): GatedPod | undefined {
    return this.#byKey.get(key);
  }

  set(gated: GatedPod): void {
    this.delete(gated.key);
    this.#byKey.set(gated.key, gated);
    if (gated.group === undefined) return;
    const members = this.#byGroup.get(gated.group) ?? new Set();
    this.#byGroup.set(gated.group, members.add(gated.key));
  }

  delete(key: string): void {
    const known = this.#byKey.get(key);
    if (!known) return;
    this.#byKey.delete(key);
    if (known.group === undefined) return;
    const members = this.#byGroup.get(known.group);
    members?.delete(key);
    if (members?.size === 0) this.#byGroup.delete(known.group);
  }

  /** The pods of a group, so that they are looked at again. */
  membersOf(group: string): readonly GatedPod[] {
    return [...(this.#byGroup.get(group) ?? [])].flatMap((key) => this.#byKey.get(key) ?? []);
  }
}

type Gate = Pick<GatedPod, "plugin" | "reason">;

/** Which plugin keeps the pod out of the queue, and why; undefined if none does. */
export function gateOf(plugins: readonly SchedulerPlugin[], pod: Pod): Gate | undefined {
  for (const plugin of plugins) {
    const reason = plugin.preEnqueue?.(pod);
    if (reason !== undefined) return { plugin: plugin.name, reason };
  }
  return undefined;
}

/** The same before the pod is tried. A plugin that fails is asked again then, where its error is reported. */
export function earlyGateOf(plugins: readonly SchedulerPlugin[], pod: Pod): Gate | undefined {
  try {
    return gateOf(plugins, pod);
  } catch {
    return undefined;
  }
}

/** A plugin that fails knows no group. */
export function groupOf(plugins: readonly SchedulerPlugin[], pod: Pod): string | undefined {
  for (const plugin of plugins) {
    try {
      const group = plugin.groupOf?.(pod);
      if (group !== undefined) return `${plugin.name} ${group}`;
    } catch {}
  }
  return undefined;
}
