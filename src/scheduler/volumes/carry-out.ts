import { Node } from "#api/core/node.ts";
import {
  boundByControllerAnnotation,
  claimKeyOf,
  isFullyBound,
  selectedNodeAnnotation,
} from "#api/core/persistent-volume/binding.ts";
import { isReachable } from "#api/core/persistent-volume/match-volume.ts";
import { PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { type Client } from "#client/client.ts";
import { referenceTo } from "#client/events.ts";
import { type Informers } from "#runtime/informer.ts";
import { type DelayedClaim } from "./pod-claims.ts";
import { type Assignment } from "./reservations.ts";

export interface Decided {
  readonly assignment: Assignment;
  readonly nodeName: string;
}

/** Tells the binder and the provisioners what was decided. */
export async function carryOut(
  { client }: { readonly client: Client },
  { assignment, nodeName }: Decided,
  signal: AbortSignal,
): Promise<void> {
  for (const {
    claim: { claim },
    volume,
  } of assignment.matches) {
    if (volume.spec.claimRef) continue;
    const annotations = { ...volume.metadata.annotations, [boundByControllerAnnotation]: "yes" };
    const spec = { ...volume.spec, claimRef: referenceTo(PersistentVolumeClaim, claim) };
    const metadata = { ...volume.metadata, annotations };
    await client.update(PersistentVolume, { ...volume, metadata, spec }, { signal });
  }
  for (const { claim } of assignment.provisions) {
    if (claim.metadata.annotations?.[selectedNodeAnnotation] === nodeName) continue;
    const annotations = { ...claim.metadata.annotations, [selectedNodeAnnotation]: nodeName };
    await client.update(PersistentVolumeClaim, { ...claim, metadata: { ...claim.metadata, annotations } }, { signal });
  }
}

/** Whether all claims have their volumes. Throws if they will not get them on this node. */
export function areBound(informers: Informers, { matches, provisions }: Assignment, nodeName: string): boolean {
  const node = informers.of(Node).get({ name: nodeName });
  if (!node) throw new Error(`failed to get node "${nodeName}"`);
  const [claims, volumes] = [informers.of(PersistentVolumeClaim), informers.of(PersistentVolume)];
  const isBound = ({ claim: { metadata } }: DelayedClaim, isProvisioned: boolean): boolean => {
    const claim = claims.get(metadata);
    if (!claim || claim.metadata.uid !== metadata.uid) {
      throw new Error(
        `failed to check provisioning pvc: could not find v1.PersistentVolumeClaim "${claimKeyOf(metadata)}"`,
      );
    }
    if (isFullyBound(claim)) {
      const volume = volumes.get({ name: claim.spec.volumeName ?? "" });
      if (!volume || isReachable(volume, node)) return volume !== undefined;
      throw new Error(`pv "${volume.metadata.name}" node affinity doesn't match node "${nodeName}"`);
    }
    // The cache may not have seen our own write yet.
    const isOld = claim.metadata.resourceVersion === metadata.resourceVersion;
    if (isProvisioned && !isOld && claim.metadata.annotations?.[selectedNodeAnnotation] !== nodeName) {
      throw new Error(`selectedNode annotation reset for PVC "${metadata.name}"`);
    }
    return false;
  };
  return matches.every(({ claim }) => isBound(claim, false)) && provisions.every((claim) => isBound(claim, true));
}
