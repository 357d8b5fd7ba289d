import { isFinished } from "#api/core/pod/pod-state.ts";
import { type Pod } from "#api/core/pod.ts";
import { type Change } from "#runtime/informer.ts";

/** The pods that are placed together or not at all. */
export interface PodGroup {
  /** Namespace and name. */
  readonly key: string;
  /** How many pods are enough. */
  readonly min: number;
}

export const nameLabel = "pod-group.scheduling.sigs.k8s.io/name";
export const minLabel = "pod-group.scheduling.sigs.k8s.io/min-available";
const maxMembers = 10_000;

/** The group that the labels of a pod name; a text says what is wrong with them. */
export function groupOfPod({ metadata }: Pod): PodGroup | string | undefined {
  const name = metadata.labels?.[nameLabel];
  if (!name) return undefined;
  const text = metadata.labels?.[minLabel] ?? "";
  const min = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (min < 1 || min > maxMembers) return `label ${minLabel} must be a whole number from 1 to ${maxMembers}`;
  return { key: `${metadata.namespace}/${name}`, min };
}

interface Members {
  /** Every pod of the group that has not ended. */
  readonly there: Set<string>;
  /** Those that have a node, if only by our decision. */
  readonly placed: Set<string>;
}

/** Which pods of each group there are, and which of them have a node. */
export class Groups {
  readonly #groups = new Map<string, Members>();

  members(key: string): number {
    return this.#groups.get(key)?.there.size ?? 0;
  }

  placed(key: string): number {
    return this.#groups.get(key)?.placed.size ?? 0;
  }

  observe(change: Change<Pod>): void {
    const pod = change.object;
    const group = groupOfPod(pod);
    if (change.type === "put" && change.previous && pod.metadata.labels !== change.previous.metadata.labels) {
      this.#moved(change.previous, group);
    }
    if (typeof group !== "object") return;
    const { uid, deletionTimestamp } = pod.metadata;
    const isGone = change.type === "delete" || isFinished(pod) || deletionTimestamp !== undefined;
    if (isGone) return this.#remove(group.key, uid);
    const members = this.#of(group.key);
    members.there.add(uid);
    if (pod.spec.nodeName) members.placed.add(uid);
  }

  place(pod: Pod): void {
    const group = groupOfPod(pod);
    if (typeof group === "object") this.#of(group.key).placed.add(pod.metadata.uid);
  }

  unplace(pod: Pod): void {
    const group = groupOfPod(pod);
    if (typeof group !== "object") return;
    this.#groups.get(group.key)?.placed.delete(pod.metadata.uid);
    this.#forgetEmpty(group.key);
  }

  /** A pod may get other labels. */
  #moved(previous: Pod, group: PodGroup | string | undefined): void {
    const before = groupOfPod(previous);
    if (typeof before !== "object") return;
    if (typeof group !== "object" || group.key !== before.key) this.#remove(before.key, previous.metadata.uid);
  }

  #of(key: string): Members {
    const members = this.#groups.get(key) ?? { there: new Set(), placed: new Set() };
    this.#groups.set(key, members);
    return members;
  }

  #remove(key: string, uid: string): void {
    const members = this.#groups.get(key);
    members?.there.delete(uid);
    members?.placed.delete(uid);
    this.#forgetEmpty(key);
  }

  #forgetEmpty(key: string): void {
    const members = this.#groups.get(key);
    if (members?.there.size === 0 && members.placed.size === 0) this.#groups.delete(key);
  }
}
