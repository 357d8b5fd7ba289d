import { allContainers } from "#api/core/pod/pod-containers.ts";
import type { Pod } from "#api/core/pod.ts";

/** The kernel allows 100,000 mounts on the node. With this limit, a full node's pods cannot use them up. */
const maxMounts = 512;
const maxVolumes = 1000;

/** Why a pod has too many volumes for the node, if it has. */
export function volumeExcess({ spec }: Pod): string | undefined {
  const { volumes = [] } = spec;
  if (volumes.length > maxVolumes) return `the pod has ${volumes.length} volumes, more than ${maxVolumes}`;
  const mounted = volumes.filter(
    ({ emptyDir, nfs, csi, image, persistentVolumeClaim, ephemeral }) =>
      (emptyDir?.medium ?? "") !== "" || nfs || csi || image || persistentVolumeClaim || ephemeral,
  );
  const parts = allContainers(spec).flatMap(({ volumeMounts = [] }) =>
    volumeMounts.filter(({ subPath, subPathExpr }) => subPath || subPathExpr),
  );
  const count = mounted.length + parts.length;
  return count > maxMounts ? `the pod needs ${count} mounts on the node, more than ${maxMounts}` : undefined;
}
