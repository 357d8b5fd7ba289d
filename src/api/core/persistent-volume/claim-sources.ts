import { type PersistentVolumeClaimSpec } from "../volume/volume-claim-spec.ts";

/** Drops what is not supported, and sets the source of the volume's content in both of its fields. */
export function prepareClaim(spec: PersistentVolumeClaimSpec, old: PersistentVolumeClaimSpec | undefined): void {
  // Sources in other namespaces are an alpha feature.
  if (spec.dataSourceRef?.namespace && !old?.dataSourceRef) delete spec.dataSourceRef;
  const hadSource = old?.dataSource !== undefined || old?.dataSourceRef !== undefined;
  if (!hadSource && !spec.dataSourceRef && !isKnownSource(spec)) delete spec.dataSource;
  alignSources(spec);
}

/** Sources that the older field may have; upstream drops others without a word. */
function isKnownSource({ dataSource }: PersistentVolumeClaimSpec): boolean {
  const { apiGroup = "", kind } = dataSource ?? {};
  return apiGroup === ""
    ? kind === "PersistentVolumeClaim"
    : apiGroup === "snapshot.storage.k8s.io" && kind === "VolumeSnapshot";
}

/** Copies `dataSource` and `dataSourceRef` to each other where only one of them is set. */
export function alignSources(spec: PersistentVolumeClaimSpec): void {
  const { dataSource, dataSourceRef } = spec;
  if (dataSource && !dataSourceRef) spec.dataSourceRef = { ...dataSource };
  else if (dataSourceRef && !dataSource && !dataSourceRef.namespace) {
    const { namespace: _, ...source } = dataSourceRef;
    spec.dataSource = source;
  }
}
