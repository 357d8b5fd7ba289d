import { Event } from "#api/core/event.ts";
import { isReady } from "#api/core/pod/pod-state.ts";
import { Pod } from "#api/core/pod.ts";
import { orAborted } from "#lib/async/tasks.ts";
import type { Informers } from "#runtime/informer.ts";
import type { Goal } from "./pod-shapes.ts";

/** What became of a pod: the values that each part of its status took, one after another, and its events. */
export interface PodHistory {
  readonly status: Readonly<Record<string, readonly string[]>>;
  /** By the container that they are about; "" for the pod. Containers do not wait for each other, so only these have an order. */
  readonly events: Readonly<Record<string, readonly string[]>>;
}

/** Follows all pods of the namespace `default`. */
export class Histories implements Disposable {
  readonly #pods = new Map<string, { last: Pod; readonly tracks: Map<string, string[]> }>();
  readonly #events = new Map<string, { readonly place: string; readonly text: string }[]>();
  readonly #waiting = new Set<() => void>();
  readonly #stop: readonly (() => void)[];

  constructor(informers: Informers) {
    this.#stop = [
      informers.of(Pod).subscribe(({ type, object }) => {
        if (type !== "delete") this.#note(object);
        this.#wake();
      }),
      informers.of(Event).subscribe(({ type, object }) => {
        if (type !== "delete") this.#noteEvent(object);
        this.#wake();
      }),
    ];
  }

  [Symbol.dispose](): void {
    for (const stop of this.#stop) stop();
  }

  hasReached(name: string, goal: Goal): boolean {
    const pod = this.#pods.get(name)?.last;
    if (!pod) return false;
    if ("ready" in goal) return isReady(pod);
    if ("phase" in goal) return pod.status.phase === goal.phase;
    if ("events" in goal) {
      const told = this.#events.get(name) ?? [];
      return goal.events.every((wanted) => told.some(({ text, place }) => `${text} ${place}`.includes(` ${wanted}`)));
    }
    // An image may fail before the pod has its network, or after.
    return (
      pod.status.podIP !== undefined && statusesOf(pod).some(({ state }) => state.waiting?.reason === goal.waiting)
    );
  }

  /** Resolves when the pod has reached its goal; rejects after the limit. */
  async reach(name: string, goal: Goal, limit: AbortSignal): Promise<void> {
    while (!this.hasReached(name, goal)) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#waiting.add(resolve);
      await orAborted(promise, limit).catch(() => {
        throw new Error(`${name} has not reached ${JSON.stringify(goal)}: ${JSON.stringify(this.lastStatus(name))}`);
      });
    }
  }

  of(name: string): PodHistory {
    const tracks = [...(this.#pods.get(name)?.tracks ?? [])].toSorted(([a], [b]) => (a < b ? -1 : 1));
    const byPlace = Object.groupBy(this.#events.get(name) ?? [], ({ place }) => place);
    const events = Object.entries(byPlace).map(([place, all = []]) => [place, all.map(({ text }) => text)] as const);
    return { status: Object.fromEntries(tracks), events: Object.fromEntries(events) };
  }

  /** For failures: what the pod is like. */
  lastStatus = (name: string): Pod["status"] | undefined => this.#pods.get(name)?.last.status;

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }

  #note(pod: Pod): void {
    const { name } = pod.metadata;
    const known = this.#pods.get(name) ?? { last: pod, tracks: new Map<string, string[]>() };
    this.#pods.set(name, known);
    known.last = pod;
    // How a program ends when it is stopped depends on how far it has come. Events still tell that it was stopped.
    if (pod.metadata.deletionTimestamp) return;
    for (const [track, value] of partsOf(pod)) {
      const values = known.tracks.get(track) ?? [];
      known.tracks.set(track, values);
      if (values.at(-1) !== value) values.push(value);
    }
  }

  /** Only the first of equal events counts: how often they repeat depends on the machine's speed. */
  #noteEvent({ involvedObject, type, reason, message }: Event): void {
    if (involvedObject.kind !== "Pod" || !involvedObject.name) return;
    const events = this.#events.get(involvedObject.name) ?? [];
    this.#events.set(involvedObject.name, events);
    const place = involvedObject.fieldPath ?? "";
    const text = `${type} ${reason}: ${plain(message ?? "", involvedObject.uid ?? "")}`;
    // A probe may still run when its container is killed, or not.
    if (text.includes("probe errored") || events.some((one) => one.text === text && one.place === place)) return;
    events.push({ place, text });
  }
}

const statusesOf = ({ status }: Pod) => [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];

function partsOf(pod: Pod): readonly (readonly [string, string])[] {
  const { phase, reason = "", conditions = [] } = pod.status;
  const containers = statusesOf(pod).map(({ name, state, restartCount, ready, started }) => {
    const { waiting, running, terminated } = state;
    const text = waiting
      ? `waiting ${waiting.reason}`
      : terminated
        ? `terminated ${terminated.reason} ${terminated.exitCode}`
        : running && "running";
    return [
      `container ${name}`,
      `${text ?? "none"} restarts=${restartCount} ready=${ready} started=${started}`,
    ] as const;
  });
  return [
    ["phase", `${phase ?? ""} ${reason}`.trim()] as const,
    ...conditions.map((one) => [`condition ${one.type}`, `${one.status} ${one.reason ?? ""}`.trim()] as const),
    ...containers,
  ];
}

/** Without what differs from machine to machine: ids, times, sizes, and what a registry or a connection says. */
const plain = (message: string, uid: string): string =>
  message
    .replaceAll(uid, "UID")
    .replace(
      /(Failed to pull image "[^"]*":|Back-off pulling image "[^"]*":|probe failed:|errored and resulted in).*$/s,
      "$1 …",
    )
    .replace(/[0-9a-f]{64}/g, "ID")
    .replace(/(requested: \d+), used: \d+, capacity: \d+/, "$1");
