import { podLimits } from "#api/core/pod/pod-resources.ts";
import type { Pod } from "#api/core/pod.ts";
import { isZeroQuantity, quantityValue } from "#api/meta/quantity.ts";

/** Bytes of the node's disk that a pod uses. */
export interface PodStorage {
  /** By the names of its volumes on the disk. */
  readonly volumes: ReadonlyMap<string, number>;
  /** By the names of its containers: their writable layers and logs. */
  readonly containers: ReadonlyMap<string, number>;
  /** The files beside its volumes that containers can write: /etc/hosts and termination messages. */
  readonly fileBytes: number;
}

export interface MeasuredPod {
  readonly pod: Pod;
  readonly storage: PodStorage;
}

export interface StorageEviction {
  readonly uid: string;
  readonly message: string;
}

/** The pods over their storage limits, with upstream's messages. */
export function planStorageEvictions(measured: readonly MeasuredPod[]): StorageEviction[] {
  return measured.flatMap(({ pod, storage }) => {
    const message = emptyDirExcess(pod, storage) ?? podExcess(pod, storage) ?? containerExcess(pod, storage);
    return message === undefined ? [] : [{ uid: pod.metadata.uid, message }];
  });
}

/** Only pods that have a limit need to be measured. */
export const hasStorageLimit = ({ spec }: Pod): boolean =>
  emptyDirLimits(spec).length > 0 || podLimits(spec)[resource] !== undefined;

const resource = "ephemeral-storage";

function emptyDirExcess({ spec }: Pod, { volumes }: PodStorage): string | undefined {
  const over = emptyDirLimits(spec).find(({ name, limit }) => (volumes.get(name) ?? 0) > quantityValue(limit));
  return over && `Usage of EmptyDir volume "${over.name}" exceeds the limit "${over.limit}". `;
}

/** A limit of zero means none. The kernel enforces the limits of volumes in memory. */
const emptyDirLimits = ({ volumes = [] }: Pod["spec"]): { name: string; limit: string }[] =>
  volumes.flatMap(({ name, emptyDir }) => {
    const { sizeLimit: limit, medium = "" } = emptyDir ?? {};
    return limit === undefined || medium !== "" || isZeroQuantity(limit) ? [] : [{ name, limit }];
  });

function podExcess({ spec }: Pod, { volumes, containers, fileBytes }: PodStorage): string | undefined {
  const limit = podLimits(spec)[resource];
  if (limit === undefined) return undefined;
  const used = [...volumes.values(), ...containers.values()].reduce((sum, bytes) => sum + bytes, fileBytes);
  if (used <= quantityValue(limit)) return undefined;
  return `Pod ephemeral local storage usage exceeds the total limit of containers ${limit}. `;
}

function containerExcess({ spec }: Pod, { containers }: PodStorage): string | undefined {
  for (const { name, resources } of spec.containers) {
    const limit = resources?.limits?.[resource];
    if (limit === undefined || isZeroQuantity(limit) || (containers.get(name) ?? 0) <= quantityValue(limit)) continue;
    return `Container ${name} exceeded its local ephemeral storage limit "${limit}". `;
  }
  return undefined;
}
