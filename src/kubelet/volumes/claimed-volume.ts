import { Node } from "#api/core/node.ts";
import { isMeantFor } from "#api/core/persistent-volume/binding.ts";
import { isReachable } from "#api/core/persistent-volume/match-volume.ts";
import { PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import type { Pod } from "#api/core/pod.ts";
import { isControlledBy } from "#api/meta/owner.ts";
import { compareQuantities } from "#api/meta/quantity.ts";
import type { Client } from "#client/client.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { ClaimError, type ClaimedVolume, type Growth } from "./plugin.ts";

export interface ClaimDeps {
  readonly client: Client;
  readonly nodeName: string;
}

/** The volume of a pod's claim. Fails, in upstream's words, if the pod may not use it on this node now. */
export async function claimedVolume(deps: ClaimDeps, pod: Pod, name: string): Promise<ClaimedVolume> {
  const { namespace } = pod.metadata;
  try {
    const claim = await claimOf(deps, pod, name);
    const volume = await volumeOf(deps, claim);
    const growth = growthOf(claim, volume);
    return { name: volume.metadata.name, spec: volume.spec, ...(growth ? { growth } : {}) };
  } catch (error) {
    throw new ClaimError(`error processing PVC ${namespace}/${name}: ${messageOf(error)}`, { cause: error });
  }
}

function growthOf({ metadata, status }: PersistentVolumeClaim, { spec }: PersistentVolume): Growth | undefined {
  const [size, known] = [spec.capacity?.storage, status.capacity?.storage];
  if (size === undefined || known === undefined || compareQuantities(size, known) <= 0) return undefined;
  return { namespace: metadata.namespace, name: metadata.name, size };
}

async function claimOf({ client }: ClaimDeps, pod: Pod, name: string): Promise<PersistentVolumeClaim> {
  const { namespace } = pod.metadata;
  const claim = await client.get(PersistentVolumeClaim, { namespace, name }).catch((error: unknown) => {
    throw new Error(`failed to fetch PVC from API server: ${messageOf(error)}`, { cause: error });
  });
  const isNamed = pod.spec.volumes?.some((volume) => volume.persistentVolumeClaim?.claimName === name);
  if (!isNamed && !isControlledBy(claim, pod)) {
    const pods = `${namespace}/${pod.metadata.name}`;
    throw new Error(`PVC ${namespace}/${name} was not created for pod ${pods} (pod is not owner)`);
  }
  if (claim.metadata.deletionTimestamp) throw new Error("PVC is being deleted");
  if (claim.status.phase !== "Bound" || !claim.spec.volumeName) throw new Error("PVC is not bound");
  return claim;
}

async function volumeOf({ client, nodeName }: ClaimDeps, claim: PersistentVolumeClaim): Promise<PersistentVolume> {
  const name = claim.spec.volumeName ?? "";
  const volume = await client.get(PersistentVolume, { name }).catch((error: unknown) => {
    throw new Error(`failed to fetch PV ${name} from API server: ${messageOf(error)}`, { cause: error });
  });
  // Users may write the name of any volume into their claim, so the volume has the last word.
  if (!volume.spec.claimRef?.uid || !isMeantFor(volume, claim)) {
    const uid = volume.spec.claimRef?.uid ?? "";
    const why = `its pv.Spec.ClaimRef.UID ${JSON.stringify(uid)} does not point to claim.UID`;
    throw new Error(`found PV object ${JSON.stringify(name)} but ${why} ${JSON.stringify(claim.metadata.uid)}`);
  }
  if (volume.spec.nodeAffinity && !isReachable(volume, await client.get(Node, { name: nodeName }))) {
    throw new Error(`the node affinity of PV ${JSON.stringify(name)} does not match node ${JSON.stringify(nodeName)}`);
  }
  return volume;
}
