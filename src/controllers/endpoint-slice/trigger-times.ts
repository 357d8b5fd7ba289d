import { type Pod } from "#api/core/pod.ts";
import { type Service } from "#api/core/service.ts";
import { findCondition } from "#api/meta/condition.ts";
import { objectKey } from "#runtime/object-cache.ts";

interface Seen {
  readonly service: string;
  readonly pods: ReadonlyMap<string, string>;
}

/** Tracks when the pods of each service last changed, to measure how long a change takes to reach the slices. */
export class TriggerTimes {
  readonly #seen = new Map<string, Seen>();

  /**
   * The time of the oldest change since the last call; undefined if there was none. Times in the same format compare as
   * text.
   */
  next({ metadata }: Service, pods: readonly Pod[]): string | undefined {
    const key = objectKey(metadata.namespace, metadata.name);
    const before = this.#seen.get(key);
    const service = metadata.creationTimestamp;
    const times = new Map<string, string>();
    let oldest: string | undefined;
    const note = (time: string, known: string | undefined): void => {
      if (time > (known ?? "") && (oldest === undefined || time < oldest)) oldest = time;
    };
    for (const { metadata: pod, status } of pods) {
      const time = findCondition(status.conditions, "Ready")?.lastTransitionTime;
      if (!time) continue;
      times.set(pod.name, time);
      note(time, before?.pods.get(pod.name));
    }
    note(service, before?.service);
    this.#seen.set(key, { service, pods: times });
    return before ? oldest : service || undefined;
  }

  forget({ namespace, name }: { readonly namespace: string; readonly name: string }): void {
    this.#seen.delete(objectKey(namespace, name));
  }
}
