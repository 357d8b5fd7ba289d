import type { PodStatus } from "#api/core/pod/pod-status.ts";
import { Pod } from "#api/core/pod.ts";
import { isConflict } from "#api/status.ts";
import { mirrorAnnotation } from "#api/well-known.ts";
import type { Client } from "#client/client.ts";
import { apiPods, fieldManager } from "#kubelet/pod/pod-objects.ts";
import { backoffMs } from "#lib/async/backoff.ts";
import type { Clock } from "#lib/async/clock.ts";
import { Nudge } from "#lib/async/nudge.ts";
import { equal } from "#lib/data/equal.ts";
import type { Log } from "#lib/process/log.ts";
import type { Change } from "#runtime/informer.ts";
import { mirrorOf, podKey } from "./static-pods.ts";

export interface MirrorDeps {
  readonly nodeName: string;
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  /** The running static pods, by namespace and name. */
  pods(): ReadonlyMap<string, Pod>;
  /** The uid of the Node that owns the mirrors, once it exists. */
  nodeUid(): string | undefined;
}

/** Shows static pods in the API. A mirror that is deleted or outdated is replaced; the pod itself is not affected. */
export class Mirrors {
  readonly #deps: MirrorDeps;
  readonly #mirrors = new Map<string, Pod>();
  /** The last written status of each mirror, by UID. */
  readonly #written = new Map<string, PodStatus>();
  /** Mirrors that were just deleted. They are recreated only after a pause, so that the deletion can be observed. */
  readonly #resting = new Set<string>();
  readonly #changes = new Nudge();

  constructor(deps: MirrorDeps) {
    this.#deps = deps;
  }

  /** There may be work to do. */
  wake(): void {
    this.#changes.give();
  }

  /** A mirror in the API has changed. */
  changed({ type, object }: Change<Pod>): void {
    const key = podKey(object);
    if (type === "put") this.#mirrors.set(key, object);
    else if (this.#mirrors.get(key)?.metadata.uid === object.metadata.uid) this.#mirrors.delete(key);
    if (type === "delete") this.#rest(key, object.metadata.uid);
    this.wake();
  }

  #rest(key: string, uid: string): void {
    this.#written.delete(uid);
    this.#resting.add(key);
    this.#deps.clock.after(restMs, () => {
      this.#resting.delete(key);
      this.wake();
    });
  }

  /** The status that the API had of a pod before this process began. */
  statusOf(pod: Pod): PodStatus | undefined {
    const mirror = this.#mirrors.get(podKey(pod));
    return mirror && mirrorOf(mirror) === pod.metadata.uid ? mirror.status : undefined;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#deps;
    signal.addEventListener("abort", () => this.wake(), { once: true });
    for (let failures = 0; !signal.aborted; ) {
      try {
        await this.#changes.taken();
        await this.#settle(signal);
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        if (!isConflict(error)) log.warn("could not show static pods in the API", { error });
        failures++;
        await clock.sleep(backoffMs(failures, retry), signal).catch(() => {});
        this.wake();
      }
    }
  }

  async #settle(signal: AbortSignal): Promise<void> {
    const pods = this.#deps.pods();
    const { remove } = apiPods(this.#deps.client);
    for (const [key, mirror] of this.#mirrors) {
      const pod = pods.get(key);
      const isCurrent = pod && mirrorOf(mirror) === pod.metadata.uid && !mirror.metadata.deletionTimestamp;
      if (isCurrent) await this.#writeStatus(pod, mirror, signal);
      else await remove(mirror);
    }
    for (const [key, pod] of pods) {
      if (!this.#mirrors.has(key) && !this.#resting.has(key)) await this.#create(pod, signal);
    }
  }

  async #create({ metadata, spec }: Pod, signal: AbortSignal): Promise<void> {
    const { client, nodeName } = this.#deps;
    const uid = this.#deps.nodeUid();
    if (uid === undefined) return;
    const { name, namespace, labels, annotations } = metadata;
    const mirror = {
      name,
      namespace,
      ...(labels ? { labels } : {}),
      annotations: { ...annotations, [mirrorAnnotation]: metadata.uid },
      ownerReferences: [{ apiVersion: "v1", kind: "Node", name: nodeName, uid, controller: true }],
    };
    const created = await client.create(Pod, { metadata: mirror, spec }, { signal, fieldManager });
    this.#mirrors.set(podKey(created), created);
    this.wake();
  }

  async #writeStatus({ status }: Pod, mirror: Pod, signal: AbortSignal): Promise<void> {
    const uid = mirror.metadata.uid;
    const written = this.#written.get(uid);
    if (written && equal(written, status)) return;
    await apiPods(this.#deps.client).writeStatus(mirror, status, signal);
    this.#written.set(uid, status);
  }
}

const restMs = 1000;
const retry = { baseMs: 200, maxMs: 10_000 };
