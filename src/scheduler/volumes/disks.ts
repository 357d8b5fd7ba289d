import { type Pod } from "#api/core/pod.ts";

/** A disk that a pod names itself, without a claim. */
export interface Disk {
  readonly kind: "gce" | "aws" | "iscsi" | "rbd";
  readonly id: string;
  /** Two disks are the same only if they share one of these. */
  readonly monitors: readonly string[];
  readonly readOnly: boolean;
}

const noDisks: readonly Disk[] = [];

export function disksOf({ spec }: Pod): readonly Disk[] {
  let disks: Disk[] | undefined;
  for (const { gcePersistentDisk: gce, awsElasticBlockStore: aws, iscsi, rbd } of spec.volumes ?? []) {
    const disk = gce
      ? diskOf("gce", gce.pdName, gce.readOnly)
      : aws
        ? // Not even two readers can share one.
          diskOf("aws", aws.volumeID, false)
        : iscsi
          ? diskOf("iscsi", iscsi.iqn, iscsi.readOnly)
          : rbd && { ...diskOf("rbd", JSON.stringify([rbd.pool, rbd.image]), rbd.readOnly), monitors: rbd.monitors };
    if (disk) disks = [...(disks ?? []), disk];
  }
  return disks ?? noDisks;
}

const diskOf = (kind: Disk["kind"], id: string, readOnly: boolean | undefined): Disk => ({
  kind,
  id,
  monitors: [],
  readOnly: readOnly ?? false,
});

/** The same disk, unless both only read it. */
export function isConflict(a: Disk, b: Disk): boolean {
  if (a.kind !== b.kind || a.id !== b.id || (a.readOnly && b.readOnly)) return false;
  return a.kind !== "rbd" || a.monitors.some((monitor) => b.monitors.includes(monitor));
}
