import { matchesRequirements, requirementsOf } from "#api/meta/label-selector.ts";
import { compareQuantities } from "#api/meta/quantity.ts";
import { compareText } from "#lib/data/compare-text.ts";
import { type Node } from "../node.ts";
import { termMatches } from "../node-match.ts";
import { isMeantFor } from "./binding.ts";
import { type PersistentVolume } from "./persistent-volume.ts";
import { type PersistentVolumeClaim } from "./persistent-volume-claim.ts";
import { classNameOf } from "./volume-columns.ts";

/** Where to look for a volume. */
export interface Candidates {
  /** Volumes that name this claim. */
  readonly prebound: readonly PersistentVolume[];
  /** Volumes of the claim's class that name no claim. */
  readonly available: readonly PersistentVolume[];
  /** The volume must be reachable from this node. */
  readonly node?: Node | undefined;
  /** Whether the volume is promised to another claim. */
  isTaken?(volume: PersistentVolume): boolean;
}

/** The volume that is meant for the claim, or else the smallest one that fits it. */
export function findVolume(claim: PersistentVolumeClaim, from: Candidates): PersistentVolume | undefined {
  const { prebound, available, node, isTaken } = from;
  const own = prebound.find((volume) => isMeantFor(volume, claim) && isUsable(volume, claim));
  if (own) return !node || isReachable(own, node) ? own : undefined;
  const requirements = claim.spec.selector && requirementsOf(claim.spec.selector);
  let best: PersistentVolume | undefined;
  for (const volume of available) {
    if (volume.spec.claimRef || volume.status.phase !== "Available" || isTaken?.(volume)) continue;
    if (best && !isBetter(volume, best)) continue;
    if (classOfVolume(volume) !== classOfClaim(claim) || !isUsable(volume, claim) || !hasModes(volume, claim)) continue;
    if (requirements && !matchesRequirements(requirements, volume.metadata.labels)) continue;
    if (!node || isReachable(volume, node)) best = volume;
  }
  return best;
}

/** Upstream's reason why a volume that the claim names does not suit it. */
export function mismatchOf(volume: PersistentVolume, claim: PersistentVolumeClaim): string | undefined {
  if (volume.metadata.deletionTimestamp) return `the volume is marked for deletion "${volume.metadata.name}"`;
  if (!isLargeEnough(volume, claim)) return "requested PV is too small";
  if (classOfVolume(volume) !== classOfClaim(claim)) return "storageClassName does not match";
  if (!hasAttributes(volume, claim)) return "volumeAttributesClassName does not match";
  if (!hasVolumeMode(volume, claim)) return "incompatible volumeMode";
  return hasModes(volume, claim) ? undefined : "incompatible accessMode";
}

/** Whether a node can use the volume; any node can use one that says nothing about it. */
export function isReachable({ spec }: PersistentVolume, node: Node): boolean {
  const terms = spec.nodeAffinity?.required?.nodeSelectorTerms;
  return terms === undefined || terms.some((term) => termMatches(term, node));
}

export const hasVolumeMode = ({ spec }: PersistentVolume, claim: PersistentVolumeClaim): boolean =>
  (spec.volumeMode ?? "Filesystem") === claim.spec.volumeMode;

export const classOfVolume = ({ metadata, spec }: PersistentVolume): string =>
  classNameOf(metadata, spec.storageClassName);
export const classOfClaim = ({ metadata, spec }: PersistentVolumeClaim): string =>
  classNameOf(metadata, spec.storageClassName);

const isUsable = (volume: PersistentVolume, claim: PersistentVolumeClaim): boolean =>
  !volume.metadata.deletionTimestamp &&
  isLargeEnough(volume, claim) &&
  hasVolumeMode(volume, claim) &&
  hasAttributes(volume, claim);

const sizeOf = ({ spec }: PersistentVolume): string => spec.capacity?.storage ?? "0";

const isLargeEnough = (volume: PersistentVolume, { spec }: PersistentVolumeClaim): boolean =>
  compareQuantities(sizeOf(volume), spec.resources.requests?.storage ?? "0") >= 0;

const hasAttributes = ({ spec }: PersistentVolume, claim: PersistentVolumeClaim): boolean =>
  (spec.volumeAttributesClassName ?? "") === (claim.spec.volumeAttributesClassName ?? "");

/** The volume must offer all modes that the claim asks for. */
function hasModes({ spec }: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  const offered = new Set(spec.accessModes);
  return (claim.spec.accessModes ?? []).every((mode) => offered.has(mode));
}

/** Smaller, and of equal ones the first by name. */
function isBetter(a: PersistentVolume, b: PersistentVolume): boolean {
  const difference = compareQuantities(sizeOf(a), sizeOf(b));
  return difference < 0 || (difference === 0 && compareText(a.metadata.name, b.metadata.name) < 0);
}
