import { chmod, chown, mkdir } from "node:fs/promises";
import type { Pod } from "#api/core/pod.ts";
import type { EmptyDirVolumeSource } from "#api/core/volume/volume.ts";
import { quantityValue } from "#api/meta/quantity.ts";
import { hasOwnFilesystem, type MountRequest, mount } from "#lib/fs/mounts.ts";
import { type VolumeContext, type VolumePlugin, volumePath } from "./plugin.ts";

/** An empty directory with the lifetime of the pod: on the node's disk, in memory, or in huge pages. */
export const emptyDirVolume: VolumePlugin = {
  name: "kubernetes.io/empty-dir",
  handles: (volume) => volume.emptyDir !== undefined,

  async setUp(context, volume) {
    const path = volumePath(context.podDir, this.name, volume.name);
    const { medium = "" } = volume.emptyDir ?? {};
    await mkdir(path, { recursive: true });
    if (medium !== "" && !(await hasOwnFilesystem(path))) {
      await mount({ ...backing(context, volume.emptyDir ?? {}), target: path });
    }
    // A pod's later changes to its directory must stay.
    if (context.isNew) await openToPod(path, context.pod);
    return { path, readOnly: false };
  },
};

async function openToPod(path: string, { spec }: Pod): Promise<void> {
  const group = spec.securityContext?.fsGroup;
  if (group !== undefined) await chown(path, 0, group);
  await chmod(path, group === undefined ? 0o777 : 0o2777);
}

type Backing = Pick<MountRequest, "type" | "source" | "options">;

/** Only numbers from the pod's spec reach the mount program. */
function backing(context: VolumeContext, { medium = "", sizeLimit }: EmptyDirVolumeSource): Backing {
  const group = context.pod.spec.securityContext?.fsGroup;
  const rights = group === undefined ? ["mode=0777"] : ["mode=2777", `gid=${group}`];
  if (medium === "Memory") {
    return { type: "tmpfs", source: "tmpfs", options: [...rights, `size=${memorySize(context, sizeLimit)}`] };
  }
  const pageBytes = pageSize(context.pod, medium);
  if (pageBytes === undefined) throw new Error(`unknown storage medium ${JSON.stringify(medium)}`);
  return { type: "hugetlbfs", source: "nodev", options: [...rights, `pagesize=${pageBytes}`] };
}

/** `HugePages-2Mi` names a size; plain `HugePages` means the only size that the pod's containers request. */
function pageSize({ spec }: Pod, medium: string): number | undefined {
  const [, size] = /^HugePages(?:-([1-9]\d{0,9}[KMGT]i))?$/.exec(medium) ?? [];
  if (size !== undefined) return quantityValue(size);
  if (medium !== "HugePages") return undefined;
  const asked = spec.containers.flatMap(({ resources }) => Object.keys(resources?.requests ?? {}));
  const sizes = new Set(asked.filter((name) => name.startsWith(hugePages)));
  const [only] = sizes;
  if (only === undefined || sizes.size > 1) {
    throw new Error('medium "HugePages" can be used only if the pod requests huge pages of exactly one size');
  }
  return quantityValue(only.slice(hugePages.length));
}
const hugePages = "hugepages-";

/** The smallest of what the volume, the pod and the node allow. */
export function memorySize({ pod, node }: Pick<VolumeContext, "pod" | "node">, sizeLimit?: string): number {
  const limits = [sizeLimit === undefined ? 0 : quantityValue(sizeLimit), podMemoryLimit(pod)];
  const ofNode = quantityValue(node.allocatable.memory ?? "0");
  const set = [...limits, ofNode].filter((limit) => limit > 0);
  return set.length === 0 ? 0 : Math.min(...set);
}

/** 0 if a container has no limit, because then the pod has none. */
function podMemoryLimit({ spec }: Pod): number {
  const whole = spec.resources?.limits?.memory;
  if (whole !== undefined) return quantityValue(whole);
  const limits = spec.containers.map(({ resources }) => quantityValue(resources?.limits?.memory ?? "0"));
  return limits.includes(0) ? 0 : limits.reduce((sum, limit) => sum + limit, 0);
}
