import {
  bindCompletedAnnotation,
  boundByControllerAnnotation,
  isMeantFor,
} from "#api/core/persistent-volume/binding.ts";
import { PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { referenceTo } from "#client/events.ts";
import { equal } from "#lib/data/equal.ts";
import { type ReconcilerDeps } from "#runtime/reconciler.ts";

type Deps = Pick<ReconcilerDeps, "client">;
interface Binding {
  readonly volume: PersistentVolume;
  readonly claim: PersistentVolumeClaim;
}

/**
 * Binds a claim and a volume to each other. The volume comes first: if this ends halfway, the volume is kept for the
 * claim, and the next attempt goes on from there.
 */
export async function bind(deps: Deps, { volume, claim }: Binding, signal: AbortSignal): Promise<void> {
  const named = await nameClaim(deps, { volume, claim }, signal);
  await writeVolumePhase(deps, named, { phase: "Bound" }, signal);
  const naming = await nameVolume(deps, { volume, claim }, signal);
  await writeStatus(deps, naming, boundStatus(naming, volume), signal);
}

async function nameClaim({ client }: Deps, { volume, claim }: Binding, signal: AbortSignal): Promise<PersistentVolume> {
  if (isMeantFor(volume, claim) && volume.spec.claimRef?.uid) return volume;
  const { resourceVersion } = claim.metadata;
  const claimRef = { ...referenceTo(PersistentVolumeClaim, claim), ...(resourceVersion ? { resourceVersion } : {}) };
  const metadata = volume.spec.claimRef
    ? volume.metadata
    : withAnnotations(volume.metadata, { [boundByControllerAnnotation]: "yes" });
  return await client.update(PersistentVolume, { ...volume, metadata, spec: { ...volume.spec, claimRef } }, { signal });
}

async function nameVolume(
  { client }: Deps,
  { volume, claim }: Binding,
  signal: AbortSignal,
): Promise<PersistentVolumeClaim> {
  const volumeName = volume.metadata.name;
  const isNamed = claim.spec.volumeName === volumeName;
  if (isNamed && claim.metadata.annotations?.[bindCompletedAnnotation] !== undefined) return claim;
  const metadata = withAnnotations(claim.metadata, {
    ...(isNamed ? {} : { [boundByControllerAnnotation]: "yes" }),
    [bindCompletedAnnotation]: "yes",
  });
  return await client.update(
    PersistentVolumeClaim,
    { ...claim, metadata, spec: { ...claim.spec, volumeName } },
    { signal },
  );
}

type ClaimStatus = PersistentVolumeClaim["status"];

/** Once a claim is bound, only its growth changes its size. */
function boundStatus({ status }: PersistentVolumeClaim, { spec }: PersistentVolume): ClaimStatus {
  const { accessModes, capacity, volumeAttributesClassName: attributes } = spec;
  const isNew = status.phase !== "Bound";
  return {
    ...status,
    phase: "Bound",
    ...(accessModes ? { accessModes } : {}),
    ...((isNew || !status.capacity?.storage) && capacity?.storage
      ? { capacity: { ...status.capacity, storage: capacity.storage } }
      : {}),
    ...(isNew && attributes ? { currentVolumeAttributesClassName: attributes } : {}),
  };
}

/** A claim without a volume has no size. */
export const unboundStatus = ({ status }: PersistentVolumeClaim, phase: "Pending" | "Lost"): ClaimStatus => {
  const { accessModes: _modes, capacity: _capacity, ...rest } = status;
  return { ...rest, phase };
};

/** Returns whether anything was written. */
export async function writeStatus(
  { client }: Deps,
  claim: PersistentVolumeClaim,
  status: ClaimStatus,
  signal: AbortSignal,
): Promise<boolean> {
  if (equal(status, claim.status)) return false;
  await client.updateStatus(PersistentVolumeClaim, { ...claim, status }, { signal });
  return true;
}

export interface PhaseWrite {
  readonly phase: string;
  readonly message?: string;
}

export async function writeVolumePhase(
  { client }: Deps,
  volume: PersistentVolume,
  { phase, message }: PhaseWrite,
  signal: AbortSignal,
): Promise<boolean> {
  if (volume.status.phase === phase) return false;
  const { message: _message, ...rest } = volume.status;
  const status = { ...rest, phase, ...(message === undefined ? {} : { message }) };
  await client.updateStatus(PersistentVolume, { ...volume, status }, { signal });
  return true;
}

export const withAnnotations = <T extends { annotations?: Record<string, string> }>(
  metadata: T,
  annotations: Readonly<Record<string, string>>,
): T => ({ ...metadata, annotations: { ...metadata.annotations, ...annotations } });
