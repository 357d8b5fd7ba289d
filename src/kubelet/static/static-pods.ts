import { mkdir, readdir } from "node:fs/promises";
import type { PodStatus } from "#api/core/pod/pod-status.ts";
import { Pod } from "#api/core/pod.ts";
import { notFound } from "#api/status.ts";
import { mirrorAnnotation } from "#api/well-known.ts";
import type { PodObjects } from "#kubelet/pod/pod-objects.ts";
import { type Clock, timestamp } from "#lib/async/clock.ts";
import { readOwnFile } from "#lib/fs/open-below.ts";
import { watchDirectory } from "#lib/fs/watch-directory.ts";
import type { Log } from "#lib/process/log.ts";
import { messageOf } from "#lib/text/message-of.ts";
import type { Change } from "#runtime/informer.ts";
import { readManifest } from "./manifest.ts";

export interface StaticPodsOptions {
  /** Each file declares a pod, as YAML or JSON. Names that begin with a dot are ignored. */
  readonly dir: string;
  readonly nodeName: string;
  readonly clock: Clock;
  readonly log: Log;
}

/** Callbacks of the components that run the pods and show them in the API. */
export interface StaticPodsUser {
  changed(change: Change<Pod>): void;
  /** The status of a pod has changed. */
  statusChanged(): void;
}

/**
 * Pods that are declared in files on the node. They run whatever the API says, and their status is stored here. A changed
 * file declares another pod, which starts when the one before it has ended.
 */
export class StaticPods implements PodObjects {
  readonly #options: StaticPodsOptions;
  /** By namespace and name: the pods that the files declare, and those that run, with their status. */
  #wanted: ReadonlyMap<string, Pod> = new Map();
  readonly #running = new Map<string, Pod>();
  readonly #leaving = new Set<string>();
  /** Files that could not be read, with the reason. */
  readonly #faults = new Map<string, string>();
  #user: StaticPodsUser | undefined;
  #revision = 0;

  constructor(options: StaticPodsOptions) {
    this.#options = options;
  }

  /** Every pod that runs or should run. */
  get uids(): ReadonlySet<string> {
    const all = [...this.#wanted.values(), ...this.#running.values()];
    return new Set(all.map(({ metadata }) => metadata.uid));
  }
  /** The running pods, with their status. */
  get pods(): ReadonlyMap<string, Pod> {
    return this.#running;
  }

  /** Starts the pods that were read; `known` returns the status from before this process began. */
  attach(user: StaticPodsUser, known: (pod: Pod) => PodStatus | undefined): void {
    this.#user = user;
    this.#wanted = new Map(
      Array.from(this.#wanted, ([key, pod]) => [key, { ...pod, status: known(pod) ?? pod.status }]),
    );
    this.#settle();
  }

  /** Follows the files until the signal. */
  async run(signal: AbortSignal): Promise<void> {
    const { dir } = this.#options;
    await mkdir(dir, { recursive: true });
    const changes = watchDirectory(dir, signal);
    while (!signal.aborted) {
      await this.load();
      this.#settle();
      await changes.taken();
    }
  }

  async load(): Promise<void> {
    const { dir } = this.#options;
    await mkdir(dir, { recursive: true });
    const entries = await readdir(dir, { withFileTypes: true });
    const files = entries
      .filter((entry) => !entry.isDirectory() && !entry.name.startsWith("."))
      .map(({ name }) => name);
    const read = await Promise.all(files.toSorted().map((name) => this.#read(`${dir}/${name}`)));
    const wanted = new Map<string, Pod>();
    for (const pod of read) {
      if (!pod) continue;
      const key = podKey(pod);
      const before = this.#wanted.get(key) ?? pod;
      if (!wanted.has(key)) wanted.set(key, before.metadata.uid === pod.metadata.uid ? before : pod);
    }
    this.#wanted = wanted;
  }

  /** A file that cannot be read declares no pod. Each fault is logged once. */
  async #read(file: string): Promise<Pod | undefined> {
    const { nodeName, clock, log } = this.#options;
    try {
      const bytes = await readOwnFile(file, { maxBytes: maxManifestBytes });
      const text = bytes?.toString() ?? "";
      const pod = await readManifest(text, { file, nodeName, seen: timestamp(clock.now()) });
      this.#faults.delete(file);
      return pod;
    } catch (error) {
      const why = messageOf(error);
      if (this.#faults.get(file) !== why) log.warn("could not read a static pod", { file, error });
      this.#faults.set(file, why);
      return undefined;
    }
  }

  /** Nothing is left of a pod, so another one of its name may start. */
  finished(uid: string): void {
    if (!this.#leaving.delete(uid)) return;
    for (const [key, pod] of this.#running) if (pod.metadata.uid === uid) this.#running.delete(key);
    this.#settle();
    this.#user?.statusChanged();
  }

  #settle(): void {
    const user = this.#user;
    if (!user) return;
    for (const [key, pod] of this.#running) {
      const uid = pod.metadata.uid;
      if (this.#wanted.get(key)?.metadata.uid === uid || this.#leaving.has(uid)) continue;
      this.#leaving.add(uid);
      user.changed({ type: "delete", object: pod, trace: undefined });
    }
    for (const [key, pod] of this.#wanted) {
      if (this.#running.has(key)) continue;
      const object = this.#versioned(pod);
      this.#running.set(key, object);
      user.changed({ type: "put", object, previous: undefined, trace: undefined });
    }
    user.statusChanged();
  }

  async writeStatus(pod: Pod, status: PodStatus): Promise<Pod> {
    const now = await this.read(pod);
    const stored = this.#versioned({ ...now, status });
    this.#running.set(podKey(pod), stored);
    this.#user?.statusChanged();
    return stored;
  }

  async read(pod: Pod): Promise<Pod> {
    const now = this.#running.get(podKey(pod));
    if (now?.metadata.uid !== pod.metadata.uid || !now) throw notFound(Pod, pod.metadata.name);
    return now;
  }

  /** Static pods are removed with their files. */
  async remove(): Promise<void> {}

  #versioned(pod: Pod): Pod {
    this.#revision++;
    return { ...pod, metadata: { ...pod.metadata, resourceVersion: String(this.#revision) } };
  }
}

/** The API's own limit for an object. */
const maxManifestBytes = 3 << 20;

export const podKey = ({ metadata }: Pod): string => `${metadata.namespace}/${metadata.name}`;

/** The hash of the file that a mirror shows; undefined for all other pods. */
export const mirrorOf = ({ metadata }: Pod): string | undefined => metadata.annotations?.[mirrorAnnotation];
