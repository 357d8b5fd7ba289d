import { chmod, mkdir } from "node:fs/promises";
import type { Pod } from "#api/core/pod.ts";
import type { EmptyDirVolumeSource } from "#api/core/volume.ts";
import { quantityValue } from "#api/meta/quantity.ts";
import { isMountPoint, mount } from "#lib/mounts.ts";
import { giveToGroup } from "./ownership.ts";
import { type VolumeContext, type VolumePlugin, volumePath } from "./plugin.ts";

/** An empty directory that lives as long as the pod: on the node's disk, in memory, or in huge pages. */
export const emptyDirVolume: VolumePlugin = {
  name: "kubernetes.io/empty-dir",
  handles: (volume) => volume.emptyDir !== undefined,

  async mount(context, volume) {
    const path = volumePath(context.podDir, this.name, volume.name);
    const { medium = "" } = volume.emptyDir ?? {};
    await mkdir(path, { recursive: true });
    if (medium !== "" && !(await isMountPoint(path))) {
      await mount({ ...backing(context, volume.emptyDir ?? {}), target: path });
    }
    const group = context.pod.spec.securityContext?.fsGroup;
    if (group === undefined) await chmod(path, 0o777);
    else {
      // The sign that this is done is set last, so a second call does not walk through the pod's files.
      await giveToGroup(path, { group, readOnly: false, policy: "OnRootMismatch" });
      await chmod(path, 0o2777);
    }
    return { path, readOnly: false };
  },
};

function backing(context: VolumeContext, { medium = "", sizeLimit }: EmptyDirVolumeSource) {
  if (medium === "Memory") {
    const options = ["mode=0777", `size=${memorySize(context, sizeLimit)}`];
    return { type: "tmpfs", source: "tmpfs", options };
  }
  const pageSize = medium.startsWith("HugePages-") ? medium.slice("HugePages-".length) : undefined;
  const options = pageSize === undefined ? [] : [`pagesize=${pageSize.replace(/i$/, "")}`];
  return { type: "hugetlbfs", source: "nodev", options: ["mode=0777", ...options] };
}

/** The smallest of what the volume, the pod and the node allow. */
export function memorySize({ pod, node }: Pick<VolumeContext, "pod" | "node">, sizeLimit?: string): number {
  const limits = [sizeLimit === undefined ? 0 : quantityValue(sizeLimit), podMemoryLimit(pod)];
  const ofNode = quantityValue(node.allocatable.memory ?? "0");
  const set = [...limits, ofNode].filter((limit) => limit > 0);
  return set.length === 0 ? 0 : Math.min(...set);
}

/** 0 if some container has no limit, for then the pod has none. */
function podMemoryLimit({ spec }: Pod): number {
  const whole = spec.resources?.limits?.memory;
  if (whole !== undefined) return quantityValue(whole);
  const limits = spec.containers.map(({ resources }) => quantityValue(resources?.limits?.memory ?? "0"));
  return limits.includes(0) ? 0 : limits.reduce((sum, limit) => sum + limit, 0);
}
