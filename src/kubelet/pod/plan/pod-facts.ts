import type { Pod } from "#api/core/pod.ts";
import type { MountedVolumes } from "#kubelet/host/host.ts";
import type { Image, SandboxConfig } from "#kubelet/runtime/runtime.ts";
import { SparseMap } from "#lib/data/sparse-map.ts";
import type { Waiting } from "./container-status.ts";
import type { PodRecords } from "./pod-records.ts";
import { statusNamed } from "./pod-state.ts";
import type { VolumesView } from "./pod-view.ts";
import { Restarts } from "./restart-backoff.ts";

/** `refreshAt` is when their content must be updated; 0 for now. */
type Volumes =
  | { readonly is: "unmounted" }
  | { readonly is: "mounted"; readonly at: MountedVolumes; readonly refreshAt: number | undefined };

/** What is known about one pod on its node. Steps change it; plans and statuses are derived from it. */
export class PodFacts {
  readonly records: PodRecords;
  readonly restarts: Restarts;
  /** Why containers that should run do not, by name. */
  readonly waiting = new SparseMap<string, Waiting>();
  /** The images of containers that are about to be created, by name. */
  readonly images = new SparseMap<string, Image>();
  /** Containers and sandboxes whose state must be read again. */
  readonly toLookAt = new Set<string>();
  /** How often a creation failed. The object may exist all the same, and then its number is taken. */
  readonly #failures = new SparseMap<string, number>();
  #volumes: Volumes = { is: "unmounted" };
  #sandboxConfig: SandboxConfig | undefined;
  #mayHaveLostSandbox = false;

  constructor(records: PodRecords, maxRestartMs?: number) {
    this.records = records;
    this.restarts = new Restarts(maxRestartMs);
  }

  get volumes(): VolumesView {
    return this.#volumes;
  }
  get mounted(): MountedVolumes | undefined {
    return this.#volumes.is === "mounted" ? this.#volumes.at : undefined;
  }
  get sandboxConfig(): SandboxConfig | undefined {
    return this.#sandboxConfig;
  }
  get mayHaveLostSandbox(): boolean {
    return this.#mayHaveLostSandbox;
  }

  volumesMounted(at: MountedVolumes, refreshAt: number | undefined): void {
    this.#volumes = { is: "mounted", at, refreshAt };
  }
  /** The content of a volume has changed. */
  volumesOutdated(): void {
    if (this.#volumes.is === "mounted") this.#volumes = { ...this.#volumes, refreshAt: 0 };
  }
  /** A change from now on requires another refresh. */
  refreshBegins(): void {
    if (this.#volumes.is === "mounted") this.#volumes = { ...this.#volumes, refreshAt: undefined };
  }
  /** The volumes are up to date, unless something has changed since the refresh began. */
  refreshed(refreshAt: number | undefined): void {
    if (this.#volumes.is === "mounted" && this.#volumes.refreshAt === undefined) {
      this.#volumes = { ...this.#volumes, refreshAt };
    }
  }
  volumesReleased(): void {
    this.#volumes = { is: "unmounted" };
  }

  useSandboxConfig(config: SandboxConfig): void {
    this.#sandboxConfig = config;
  }
  sandboxesStopped(): void {
    this.#mayHaveLostSandbox = false;
  }

  /** Creates something under a number that is not taken, even by a creation that was reported as failed. */
  async numbered<T>(what: "sandbox" | `container ${string}`, make: (failures: number) => Promise<T>): Promise<T> {
    const failures = this.#failures.get(what) ?? 0;
    try {
      return await make(failures);
    } catch (error) {
      this.#failures.set(what, failures + 1);
      if (what === "sandbox") this.#mayHaveLostSandbox = true;
      throw error;
    }
  }

  /** Continues the count of the runtime's record, or of the API's if the runtime has lost it. */
  nextRestartCount(pod: Pod, name: string): number {
    const last = this.records.newest(name);
    if (last) return last.restartCount + 1;
    const { containerID, restartCount = 0 } = statusNamed(pod, name) ?? {};
    // Once a container is reported as lost, its status has no ID and already counts the restart.
    return containerID ? restartCount + 1 : restartCount;
  }
}
