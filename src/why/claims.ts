import { classOfClaim, classOfVolume } from "#api/core/persistent-volume/match-volume.ts";
import { PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { claimNamesOf } from "#api/core/pod/pod-references.ts";
import { Pod } from "#api/core/pod.ts";
import { isForbidden, isNotFound } from "#api/status.ts";
import { StorageClass } from "#api/storage/storage-class.ts";
import { type Client } from "#client/client.ts";
import { type ClaimFacts, type SeenEvent } from "./facts.ts";

export interface ClaimReader {
  readonly client: Client;
  readonly nowMs: number;
  events(claim: PersistentVolumeClaim): Promise<readonly SeenEvent[]>;
}

/** Reads what decides over a claim. */
export async function gatherClaim(reader: ClaimReader, claim: PersistentVolumeClaim): Promise<ClaimFacts> {
  const { client, nowMs } = reader;
  const { namespace, name } = claim.metadata;
  const { volumeName } = claim.spec;
  const className = classOfClaim(claim);
  const isBound = claim.status.phase === "Bound";
  const [events, storageClass, volume, { items }, volumes] = await Promise.all([
    reader.events(claim),
    className ? readable(client.get(StorageClass, { name: className })) : undefined,
    volumeName ? readable(client.get(PersistentVolume, { name: volumeName })) : undefined,
    client.list(Pod, { namespace }),
    isBound || volumeName ? undefined : readable(client.list(PersistentVolume, {})),
  ]);
  const pods = items.filter((pod) => claimNamesOf(pod).includes(name));
  const candidates = volumes?.items.filter((one) => classOfVolume(one) === className && !isTaken(one, claim)) ?? [];
  return { nowMs, claim, events, storageClass, volume, candidates: candidates.slice(0, maxCandidates), pods };
}

/** A volume that another claim uses is nothing to wait for. One whose claim has gone may be freed. */
const isTaken = ({ spec, status }: PersistentVolume, claim: PersistentVolumeClaim): boolean =>
  status.phase === "Bound" && spec.claimRef?.uid !== claim.metadata.uid;

/** How many volumes are shown. */
const maxCandidates = 3;
/** How many claims of a pod are examined. */
const maxClaims = 8;

/** The claims of a pod that have no volume yet; only the name of those that do not exist. */
export async function openClaims(reader: ClaimReader, pod: Pod): Promise<(ClaimFacts | string)[]> {
  const { namespace } = pod.metadata;
  const found: (ClaimFacts | string)[] = [];
  for (const name of new Set(claimNamesOf(pod).slice(0, maxClaims))) {
    const claim = await readable(reader.client.get(PersistentVolumeClaim, { namespace, name }));
    if (!claim) found.push(name);
    else if (claim.status.phase !== "Bound") found.push(await gatherClaim(reader, claim));
  }
  return found;
}

/** Volumes and classes are not in a namespace, and not every user may read them. */
async function readable<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (isNotFound(error) || isForbidden(error)) return undefined;
    throw error;
  }
}
