import { type Deployment } from "#api/apps/deployment.ts";
import { Pod } from "#api/core/pod.ts";
import { isConditionTrue } from "#api/meta/condition.ts";
import { scaledValue } from "#api/meta/int-or-string.ts";
import { type ApiObject } from "#api/resource.ts";
import { type Log, silentLog } from "#lib/process/log.ts";
import { type StoreEvent } from "#store/store.ts";
import { type World } from "./world.ts";

/** How many pods may exist concurrently, and how many must be available. */
export interface Limits {
  readonly ceiling: number;
  readonly floor: number;
}

export function limitsOf({ spec }: Pick<Deployment, "spec">): Limits {
  const { maxSurge = 0, maxUnavailable = 0 } = spec.strategy.rollingUpdate ?? {};
  const surge = scaledValue(maxSurge, spec.replicas, "up") ?? 0;
  const missing = scaledValue(maxUnavailable, spec.replicas, "down") ?? 0;
  return { ceiling: spec.replicas + surge, floor: spec.replicas - (surge + missing === 0 ? 1 : missing) };
}

const isActive = ({ metadata, status }: Pod): boolean =>
  !metadata.deletionTimestamp && status.phase !== "Failed" && status.phase !== "Succeeded";
const isAvailable = (pod: Pod): boolean => isActive(pod) && isConditionTrue(pod.status.conditions, "Ready");

/** Watches every change of the store, and records violated invariants. */
export class Monitor {
  readonly wrongs: string[] = [];
  readonly #pods = new Map<string, Pod>();
  readonly #nodes = new Map<string, string>();
  readonly #written = new Map<string, Set<number>>();
  readonly #world: World;
  readonly #log: Log;
  readonly #from: number;
  #limits: Limits = { ceiling: 0, floor: 0 };

  constructor(world: World, namespace: string, log: Log) {
    this.#log = log;
    this.#world = world;
    const { store, informers } = world.cluster;
    this.#from = store.revision;
    store.watch("/registry/", store.revision, {
      events: (events) => this.#write(events),
      failed: (error) => this.wrongs.push(String(error)),
    });
    informers.of(Pod).subscribe(({ type, object }) => {
      if (object.metadata.namespace === namespace) this.#see(type, object);
    });
  }

  /** Replaces the limits from now on. */
  expect(limits: Limits): void {
    this.#limits = limits;
    this.#check();
  }

  /** Widens the limits. */
  allow({ ceiling, floor }: Limits): void {
    this.#limits = { ceiling: Math.max(ceiling, this.#limits.ceiling), floor: Math.min(floor, this.#limits.floor) };
  }

  /** Acknowledged writes that the store has not seen. */
  lostWrites(): string[] {
    return this.#world.faults.acknowledged
      .filter(({ key, revision }) => revision > this.#from && !this.#written.get(key)?.has(revision))
      .map(({ key, revision }) => `${key} at ${revision}`);
  }

  #write(events: readonly StoreEvent[]): void {
    for (const event of events) {
      const { key, revision } = event;
      if (this.#log !== silentLog) this.#log.debug("changed", { at: this.#time(), ...gist(event) });
      const revisions = this.#written.get(key) ?? new Set();
      this.#written.set(key, revisions.add(revision));
    }
  }

  #see(type: "put" | "delete", pod: Pod): void {
    const { uid, name } = pod.metadata;
    if (type === "delete") this.#pods.delete(uid);
    else this.#pods.set(uid, pod);
    const { nodeName } = pod.spec;
    const before = this.#nodes.get(uid);
    if (before && nodeName !== before) this.#wrong(`pod ${name} moved from ${before} to ${nodeName}`);
    if (nodeName) this.#nodes.set(uid, nodeName);
    this.#check();
  }

  #check(): void {
    let active = 0;
    let available = 0;
    for (const pod of this.#pods.values()) {
      if (isActive(pod)) active++;
      if (isAvailable(pod)) available++;
    }
    const { ceiling, floor } = this.#limits;
    if (active > ceiling) this.#wrong(`${active} pods, but at most ${ceiling} are allowed`);
    if (available < floor) this.#wrong(`${available} available pods, but at least ${floor} are needed`);
  }

  #wrong(what: string): void {
    this.wrongs.push(`${this.#time()} revision ${this.#world.cluster.store.revision}: ${what}`);
  }

  #time(): string {
    return new Date(this.#world.cluster.clock.now()).toISOString().slice(11, 23);
  }
}

/** The parts of a change that help to follow a run. */
function gist({ key, revision, value }: StoreEvent): Record<string, unknown> {
  if (!value) return { key, revision, isDeleted: true };
  const {
    metadata = {},
    spec = {},
    status = {},
  } = JSON.parse(Buffer.from(value).toString()) as {
    readonly metadata?: ApiObject["metadata"];
    readonly spec?: Record<string, unknown>;
    readonly status?: Record<string, unknown>;
  };
  const { generation, deletionTimestamp } = metadata;
  const { replicas, nodeName, taints } = spec;
  return { key, revision, generation, deletionTimestamp, replicas, nodeName, taints, status };
}
