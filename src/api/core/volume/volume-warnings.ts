import { type ResourceList } from "#api/core/container/resource-list.ts";
import { type Cursor } from "#api/cursor.ts";
import { quantityMilliValue } from "#api/meta/quantity.ts";
import { trimEndOf } from "#lib/text/trim-end.ts";
import { type Volume, type VolumeProjection } from "./volume.ts";

/** Sources that no longer work, with what is said about them. */
export const retiredSources = [
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

export function warnOfVolumes(pod: Cursor<{ volumes?: Volume[] }>): void {
  pod.each("volumes", (at) => {
    for (const [name, text] of retiredSources) {
      if (at.value[name]) at.under(name === "storageos" ? "storageOS" : name).warn(text);
    }
    const claim = at.value.ephemeral?.volumeClaimTemplate?.spec;
    if (!claim) return;
    for (const part of ["requests", "limits"] as const) {
      const place = at.under("ephemeral", "volumeClaimTemplate", "spec", "resources", part);
      warnOfFraction(place.as(claim.resources[part]), "storage");
    }
  });
  const effort = { left: maxComparisons };
  for (const volume of pod.value.volumes ?? []) for (const text of overlapWarnings(volume, effort)) pod.note(text);
}

/** An amount of bytes is a whole number. */
export function warnOfFraction(at: Cursor<ResourceList | undefined>, name: string): void {
  const amount = at.value?.[name];
  if (amount === undefined || quantityMilliValue(amount) % 1000 === 0) return;
  at.key(name, amount).warn(`fractional byte value ${JSON.stringify(amount)} is invalid, must be an integer`);
}

interface SourcedPath {
  readonly path: string;
  /** Only a projected volume has paths from several sources. */
  readonly source?: Source;
}
interface Source {
  readonly kind: string;
  readonly name?: string;
}

/** Files of one volume that lie at, or below, one another. */
function overlapWarnings({ name, configMap, secret, downwardAPI, projected }: Volume, effort: Effort): Text[] {
  const found: Text[] = [];
  const report = (source: Source, paths: readonly SourcedPath[] = []): void => {
    for (const text of overlapsOf(paths, effort)) {
      found.push(() => `volume ${JSON.stringify(name)} (${showSource(source)}): overlapping paths: ${text()}`);
    }
  };
  if (configMap) report({ kind: "ConfigMap", name: configMap.name ?? "" }, configMap.items);
  if (secret) report({ kind: "Secret", name: secret.secretName ?? "" }, secret.items);
  if (downwardAPI) report({ kind: "DownwardAPI" }, downwardAPI.items);
  for (const source of projected?.sources ?? []) {
    if (Object.keys(source).length === 0) {
      found.push(() => `volume ${JSON.stringify(name)} (Projected) has no sources provided`);
    }
  }
  if (projected) report({ kind: "Projected" }, (projected.sources ?? []).flatMap(projectedPaths));
  return found;
}

function projectedPaths({ configMap, secret, downwardAPI, serviceAccountToken }: VolumeProjection): SourcedPath[] {
  if (configMap) return pathsFrom({ kind: "ConfigMap", name: configMap.name ?? "" }, configMap.items);
  if (secret) return pathsFrom({ kind: "Secret", name: secret.name ?? "" }, secret.items);
  if (downwardAPI) return pathsFrom({ kind: "DownwardAPI" }, downwardAPI.items);
  return serviceAccountToken ? pathsFrom({ kind: "ServiceAccountToken" }, [serviceAccountToken]) : [];
}

const pathsFrom = (source: Source, items: readonly { readonly path: string }[] = []): SourcedPath[] =>
  items.map(({ path }) => ({ path, source }));

/**
 * Every path is compared with every other of its volume, so only the beginning of a very long list is checked for
 * warnings: about 200 paths in one volume, more in several.
 */
const maxComparisons = 20_000;
interface Effort {
  left: number;
}
/** Made only if it is sent: paths may be long. */
type Text = () => string;

function overlapsOf(paths: readonly SourcedPath[], effort: Effort): Text[] {
  if (paths.length < 2) return [];
  const seen: (SourcedPath & { readonly folder: string })[] = [];
  const found: Text[] = [];
  for (const at of paths) {
    if (effort.left <= 0) break;
    effort.left -= seen.length;
    const path = trimEndOf(at.path, "/");
    const now = { ...at, path, folder: `${path}/` };
    if (path === "") continue;
    for (const other of seen) {
      const touches = other.folder.startsWith(now.folder) || now.folder.startsWith(other.folder);
      if (touches) found.push(() => `${show(now)} with ${show(other)}`);
    }
    seen.push(now);
  }
  return found;
}

const show = ({ path, source }: SourcedPath): string =>
  source ? `${JSON.stringify(path)} (${showSource(source)})` : JSON.stringify(path);
const showSource = ({ kind, name }: Source): string => (name === undefined ? kind : `${kind} ${JSON.stringify(name)}`);
