import { boundByControllerAnnotation, claimKeyOf } from "#api/core/persistent-volume/binding.ts";
import { PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { revisionOf } from "#runtime/object-cache.ts";
import { type Reconciler, type ReconcilerDeps, watch } from "#runtime/reconciler.ts";
import { writeVolumePhase } from "./bind.ts";
import { planVolume } from "./plan-volume.ts";

/** Shows in the phase of a volume whether it can be claimed, is claimed, or was, and releases it after use. */
export function volumeBinder(deps: ReconcilerDeps): Reconciler<PersistentVolume> {
  const claims = deps.informers.of(PersistentVolumeClaim);
  const volumes = deps.informers.of(PersistentVolume);
  return {
    name: "persistentvolume-binder-volumes",
    reconciles: PersistentVolume,
    watches: [
      watch(PersistentVolumeClaim, ({ object: { metadata, spec } }) => [
        ...volumes.by("claim", claimKeyOf(metadata)).map((volume) => volume.metadata),
        ...(spec.volumeName ? [{ name: spec.volumeName }] : []),
      ]),
    ],

    async reconcile(volume, signal) {
      // The claim is older than its volume's reference to it: without this, a late cache would look like its end.
      await claims.caughtUpTo(revisionOf(volume.metadata.resourceVersion), signal);
      const { namespace, name = "" } = volume.spec.claimRef ?? {};
      await carryOut(deps, { volume, claim: name ? claims.get({ namespace, name }) : undefined }, signal);
    },
  };
}

interface Turn {
  readonly volume: PersistentVolume;
  readonly claim: PersistentVolumeClaim | undefined;
}

async function carryOut(deps: ReconcilerDeps, { volume, claim }: Turn, signal: AbortSignal): Promise<void> {
  const plan = planVolume(volume, claim);
  switch (plan.step) {
    case "phase":
      await writeVolumePhase(deps, volume, plan, signal);
      return;
    case "fail": {
      const { reason, message } = plan;
      await writeVolumePhase(deps, volume, { phase: "Failed", message }, signal);
      deps.events.event(volume, "Warning", reason, message);
      return;
    }
    case "unbind":
      await deps.client.update(PersistentVolume, unbound(volume, plan.forgets), { signal });
      return;
    case "mismatch":
      return reportMismatch(deps, volume, plan.claim);
    case "none":
  }
}

function unbound(volume: PersistentVolume, forgets: "claim" | "uid"): PersistentVolume {
  const { claimRef, ...spec } = volume.spec;
  if (forgets === "uid") {
    const { uid: _uid, ...rest } = claimRef ?? {};
    return { ...volume, spec: { ...spec, claimRef: rest } };
  }
  const { [boundByControllerAnnotation]: _bound, ...annotations } = volume.metadata.annotations ?? {};
  return { ...volume, metadata: { ...volume.metadata, annotations }, spec };
}

function reportMismatch({ events }: ReconcilerDeps, volume: PersistentVolume, claim: PersistentVolumeClaim): void {
  const [volumeName, claimName] = [volume.metadata.name, claim.metadata.name];
  const why = "due to incompatible volumeMode.";
  const ofVolume = `Cannot bind PersistentVolume to requested PersistentVolumeClaim "${claimName}" ${why}`;
  const ofClaim = `Cannot bind PersistentVolume "${volumeName}" to requested PersistentVolumeClaim ${why}`;
  events.event(volume, "Warning", "VolumeMismatch", ofVolume);
  events.event(claim, "Warning", "VolumeMismatch", ofClaim);
}
