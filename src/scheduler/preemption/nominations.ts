import { type Pod } from "#api/core/pod.ts";

/** A pod that waits for room on a node, where other pods end for its sake. */
export interface Nominated {
  readonly key: string;
  readonly pod: Pod;
}

/** Pods without a node that have one nominated, by our own decision or in their status. */
export class Nominations {
  readonly #nodeOf = new Map<string, string>();
  readonly #byNode = new Map<string, Map<string, Pod>>();
  /** Called when a pod no longer waits for room on a node, so that others may have it. */
  onEnd: (nominated: Nominated, node: string) => void = () => undefined;

  get size(): number {
    return this.#nodeOf.size;
  }

  set(key: string, pod: Pod, node: string): void {
    if (this.#nodeOf.get(key) !== node) this.delete(key);
    this.#nodeOf.set(key, node);
    const pods = this.#byNode.get(node) ?? new Map<string, Pod>();
    this.#byNode.set(node, pods.set(key, pod));
  }

  delete(key: string): void {
    const node = this.#nodeOf.get(key);
    if (node === undefined) return;
    this.#nodeOf.delete(key);
    const pods = this.#byNode.get(node);
    const pod = pods?.get(key);
    pods?.delete(key);
    if (pods?.size === 0) this.#byNode.delete(node);
    if (pod) this.onEnd({ key, pod }, node);
  }

  nodeOf(key: string): string | undefined {
    return this.#nodeOf.get(key);
  }

  /** The nodes for which pods wait. */
  nodes(): string[] {
    return [...this.#byNode.keys()];
  }

  /** Whether any pod waits for room on the node. */
  isOn(node: string): boolean {
    return this.#byNode.has(node);
  }

  /** Other pods of at least this priority that wait for room on the node. */
  rivals(node: string, key: string, priority: number): Nominated[] {
    return this.#on(node).filter((other) => other.key !== key && priorityOf(other.pod) >= priority);
  }

  /** Pods of a lower priority that wait for room on the node. */
  lesser(node: string, priority: number): Nominated[] {
    return this.#on(node).filter(({ pod }) => priorityOf(pod) < priority);
  }

  #on(node: string): Nominated[] {
    return Array.from(this.#byNode.get(node) ?? [], ([key, pod]) => ({ key, pod }));
  }
}

export const priorityOf = ({ spec }: Pod): number => spec.priority ?? 0;
