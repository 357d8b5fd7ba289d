import { type FieldPath } from "#schema/field-error.ts";
import { quantityMilliValue } from "../meta/quantity.ts";
import { type Volume, type VolumeProjection } from "./volume.ts";
import { type PersistentVolumeClaimSpec } from "./volume-claim-spec.ts";

const retiredSources = [
  ["photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"],
  ["gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"],
  ["scaleIO", "deprecated in v1.16, non-functional in v1.22+"],
  ["flocker", "deprecated in v1.22, non-functional in v1.25+"],
  ["storageos", "deprecated in v1.22, non-functional in v1.25+"],
  ["quobyte", "deprecated in v1.22, non-functional in v1.25+"],
  ["glusterfs", "deprecated in v1.25, non-functional in v1.26+"],
  ["cephfs", "deprecated in v1.28, non-functional in v1.31+"],
  ["rbd", "deprecated in v1.28, non-functional in v1.31+"],
] as const;

export function volumeWarnings(volumes: readonly Volume[], path: FieldPath): string[] {
  const warnings: string[] = [];
  for (const [index, volume] of volumes.entries()) {
    const at = path.index(index);
    for (const [name, text] of retiredSources) {
      if (volume[name]) warnings.push(`${at.child(name === "storageos" ? "storageOS" : name)}: ${text}`);
    }
    const claim = volume.ephemeral?.volumeClaimTemplate?.spec;
    if (claim) warnings.push(...claimWarnings(claim, at.child("ephemeral", "volumeClaimTemplate", "spec")));
  }
  for (const volume of volumes) warnings.push(...overlapWarnings(volume));
  return warnings;
}

/** Sizes are whole bytes. */
function claimWarnings({ resources }: PersistentVolumeClaimSpec, path: FieldPath): string[] {
  const warnings: string[] = [];
  for (const part of ["requests", "limits"] as const) {
    const size = resources[part]?.storage;
    if (size === undefined || quantityMilliValue(size) % 1000 === 0) continue;
    const text = `fractional byte value ${JSON.stringify(size)} is invalid, must be an integer`;
    warnings.push(`${path.child("resources", part).key("storage")}: ${text}`);
  }
  return warnings;
}

interface SourcedPath {
  readonly path: string;
  readonly source: string;
}

/** Files of one volume that lie at, or below, one another. */
function overlapWarnings({ name, configMap, secret, downwardAPI, projected }: Volume): string[] {
  const found: string[] = [];
  const report = (kind: string, paths: readonly SourcedPath[]): void => {
    for (const text of overlapsOf(paths)) {
      found.push(`volume ${JSON.stringify(name)} (${kind}): overlapping paths: ${text}`);
    }
  };
  if (configMap) report(`ConfigMap ${JSON.stringify(configMap.name ?? "")}`, pathsOf(configMap.items, ""));
  if (secret) report(`Secret ${JSON.stringify(secret.secretName ?? "")}`, pathsOf(secret.items, ""));
  if (downwardAPI) report("DownwardAPI", pathsOf(downwardAPI.items, ""));
  for (const source of projected?.sources ?? []) {
    if (Object.keys(source).length === 0) {
      found.push(`volume ${JSON.stringify(name)} (Projected) has no sources provided`);
    }
  }
  if (projected) report("Projected", (projected.sources ?? []).flatMap(projectedPaths));
  return found;
}

const pathsOf = (items: readonly { readonly path: string }[] | undefined, source: string): SourcedPath[] =>
  (items ?? []).map(({ path }) => ({ path, source }));

function projectedPaths(source: VolumeProjection): SourcedPath[] {
  const { configMap, secret, downwardAPI, serviceAccountToken } = source;
  if (configMap) return pathsOf(configMap.items, `ConfigMap ${JSON.stringify(configMap.name ?? "")}`);
  if (secret) return pathsOf(secret.items, `Secret ${JSON.stringify(secret.name ?? "")}`);
  if (downwardAPI) return pathsOf(downwardAPI.items, "DownwardAPI");
  return serviceAccountToken ? pathsOf([serviceAccountToken], "ServiceAccountToken") : [];
}

function overlapsOf(paths: readonly SourcedPath[]): string[] {
  const seen: SourcedPath[] = [];
  const found: string[] = [];
  for (const { path, source } of paths) {
    const now = { path: path.replace(/\/+$/, ""), source };
    if (now.path === "") continue;
    for (const other of seen) {
      const touches = `${other.path}/`.startsWith(`${now.path}/`) || `${now.path}/`.startsWith(`${other.path}/`);
      if (touches) found.push(`${show(now)} with ${show(other)}`);
    }
    seen.push(now);
  }
  return found;
}

const show = ({ path, source }: SourcedPath): string =>
  source ? `${JSON.stringify(path)} (${source})` : JSON.stringify(path);
