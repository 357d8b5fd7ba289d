import { type ObjectMeta } from "#api/meta/object-meta.ts";

const shortModes = [
  ["ReadWriteOnce", "RWO"],
  ["ReadOnlyMany", "ROX"],
  ["ReadWriteMany", "RWX"],
  ["ReadWriteOncePod", "RWOP"],
] as const;

/** The modes as `kubectl get` shows them: `RWO,ROX`. */
export function formatAccessModes(modes: readonly string[] = []): string {
  const found = new Set(modes);
  return shortModes
    .filter(([mode]) => found.has(mode))
    .map(([, short]) => short)
    .join(",");
}

/** Named the class of a volume or claim before there was a field for it. */
export const classAnnotation = "volume.beta.kubernetes.io/storage-class";

/** The StorageClass of a volume or claim; the annotation counts first. */
export const classNameOf = ({ annotations }: Pick<ObjectMeta, "annotations">, className: string | undefined): string =>
  annotations?.[classAnnotation] ?? className ?? "";
