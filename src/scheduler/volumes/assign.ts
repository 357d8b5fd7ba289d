import { Node } from "#api/core/node.ts";
import { noProvisioner, selectedNodeAnnotation } from "#api/core/persistent-volume/binding.ts";
import { classOfClaim, findVolume } from "#api/core/persistent-volume/match-volume.ts";
import { PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { type Pod } from "#api/core/pod.ts";
import { type StorageClass } from "#api/storage/storage-class.ts";
import { own } from "#lib/data/own.ts";
import { type Informers } from "#runtime/informer.ts";
import { claimsOfPod, type DelayedClaim, type PodClaims } from "./pod-claims.ts";
import { type Assignment, type Reservations } from "./reservations.ts";
import { type StorageCapacity } from "./storage-capacity.ts";

/** What volumes there are, and which of them are promised. */
export interface VolumeWorld {
  readonly informers: Informers;
  readonly reservations: Reservations;
  readonly capacity: StorageCapacity;
}

/** Why a claim would get nothing on a node, in upstream's words. */
const noVolume = "node(s) didn't find available persistent volumes to bind";
const noSpace = "node(s) did not have enough free storage";

/** All that placement depends on, so that pods whose claims are alike share their results. */
export function partsOf(world: VolumeWorld, pod: Pod): unknown {
  const { informers, reservations, capacity } = world;
  const claims = claimsOfPod(informers, pod);
  if (typeof claims === "string") return claims;
  const volumes = informers.of(PersistentVolume);
  return [
    claims.volumes.map(({ spec }) => spec.nodeAffinity),
    claims.delayed.map(({ key, claim, storageClass }) => {
      const node = nodeOf(world, { key, claim });
      const { uid, resourceVersion } = storageClass.metadata;
      const hasVolumes = volumes.by("claim", key).length + volumes.by("available", classOfClaim(claim)).length > 0;
      // Volumes that exist make a difference between claims, and change.
      const present = hasVolumes && [key, volumes.revision, reservations.version];
      return [node, uid, resourceVersion, present, capacity.partsOf(claim, storageClass)];
    }),
  ];
}

/** The node of another pod that uses the claim. One that no longer exists does not count: nobody would make the volume. */
function nodeOf({ informers, reservations }: VolumeWorld, { key, claim }: Pick<DelayedClaim, "key" | "claim">) {
  const name = claim.metadata.annotations?.[selectedNodeAnnotation];
  const isThere = name !== undefined && informers.of(Node).get({ name }) !== undefined;
  return isThere ? name : reservations.nodeOf(key);
}

/** What the claims would get on a node, or why one of them would get nothing. */
export function assign(world: VolumeWorld, { delayed }: PodClaims, node: Node): Assignment | string {
  const { informers, reservations, capacity } = world;
  const volumes = informers.of(PersistentVolume);
  const matches: { claim: DelayedClaim; volume: PersistentVolume }[] = [];
  const provisions: DelayedClaim[] = [];
  const used = new Set<string>();
  for (const one of delayed) {
    const selected = nodeOf(world, one);
    if (selected !== undefined && selected !== node.metadata.name) return noVolume;
    const volume = findVolume(one.claim, {
      prebound: volumes.by("claim", one.key),
      available: volumes.by("available", classOfClaim(one.claim)),
      node,
      isTaken: ({ metadata: { name } }) => used.has(name) || reservations.isTaken(name, one.key),
    });
    if (volume) {
      matches.push({ claim: one, volume });
      used.add(volume.metadata.name);
    } else if (!canProvision(one.storageClass, node)) return noVolume;
    else if (!capacity.hasRoom(one.claim, one.storageClass, node)) return noSpace;
    else provisions.push(one);
  }
  return { matches, provisions };
}

function canProvision({ provisioner, allowedTopologies = [] }: StorageClass, { metadata: { labels } }: Node): boolean {
  if (provisioner === noProvisioner) return false;
  if (allowedTopologies.length === 0) return true;
  return allowedTopologies.some(({ matchLabelExpressions = [] }) =>
    matchLabelExpressions.every(({ key, values }) => values.includes(own(labels, key) ?? "")),
  );
}
