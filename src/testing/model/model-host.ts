import type { Pod } from "#api/core/pod.ts";
import type { PodHost, PodName } from "#kubelet/host/host.ts";
import { podNameOf, simulatedHost } from "#kubelet/host/host.ts";

/** A machine that remembers the directories, cgroups, mounts and logs of pods. */
export class ModelHost {
  readonly cgroups = new Set<string>();
  readonly directories = new Set<string>();
  readonly mounts = new Map<string, Set<string>>();
  readonly logs = new Map<string, PodName>();

  /** What is left of pods. */
  get leftovers(): string[] {
    return [
      ...Array.from(this.cgroups, (uid) => `cgroup of ${uid}`),
      ...Array.from(this.directories, (uid) => `directory of ${uid}`),
      ...Array.from(this.mounts.keys(), (uid) => `mounts of ${uid}`),
      ...Array.from(this.logs.keys(), (uid) => `logs of ${uid}`),
    ];
  }

  readonly host: PodHost = {
    ...simulatedHost,
    prepare: async (pod) => {
      const { uid } = podNameOf(pod);
      this.directories.add(uid);
      this.cgroups.add(uid);
      this.logs.set(uid, podNameOf(pod));
      return { logDirectory: `/logs/${uid}`, cgroupParent: `/pods/${uid}` };
    },
    mountVolumes: async (pod) => this.#mount(pod),
    release: async (uid) => {
      this.mounts.delete(uid);
      this.directories.delete(uid);
      this.cgroups.delete(uid);
    },
    removeLogs: async ({ uid }) => void this.logs.delete(uid),
    leftovers: async () => {
      const unnamed = [...this.directories].filter((uid) => !this.logs.has(uid));
      return [...this.logs.values(), ...unnamed.map((uid) => ({ namespace: "", name: "", uid }))];
    },
  };

  #mount(pod: Pod) {
    const { uid } = podNameOf(pod);
    const names = (pod.spec.volumes ?? []).map(({ name }) => name);
    this.directories.add(uid);
    if (names.length > 0) this.mounts.set(uid, new Set(names));
    return new Map(names.map((name) => [name, { path: `/pods/${uid}/${name}`, readOnly: false }]));
  }
}
