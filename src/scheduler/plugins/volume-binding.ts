import { Node } from "#api/core/node.ts";
import { classOfClaim, isReachable } from "#api/core/persistent-volume/match-volume.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { claimNamesOf } from "#api/core/pod/pod-references.ts";
import { type Pod } from "#api/core/pod.ts";
import { StorageClass } from "#api/storage/storage-class.ts";
import { type Client } from "#client/client.ts";
import { type Clock } from "#lib/async/clock.ts";
import { equal } from "#lib/data/equal.ts";
import { type Informers } from "#runtime/informer.ts";
import { type VolumeBindingArgs } from "../args/plugin-args.ts";
import { fits, hint, type RetryHints, rejectFinally, type SchedulerPlugin } from "../framework.ts";
import { assign, partsOf, type VolumeWorld } from "../volumes/assign.ts";
import { areBound, carryOut } from "../volumes/carry-out.ts";
import { ClaimWaits } from "../volumes/claim-waits.ts";
import { claimsOfPod, hasClaims, type PodClaims } from "../volumes/pod-claims.ts";
import { claimsOf, Reservations } from "../volumes/reservations.ts";
import { capacityHint, claimHint, driverHint, volumeHint } from "../volumes/retry-hints.ts";
import { StorageCapacity } from "../volumes/storage-capacity.ts";

/** Promises to pods, which all profiles share. */
export interface VolumePromises {
  readonly reservations: Reservations;
}

export interface VolumeBindingDeps {
  readonly client: Client;
  readonly informers: Informers;
  readonly clock: Clock;
}

const unreachable = rejectFinally("node(s) didn't match PersistentVolume's node affinity");
/** As upstream: how long a pod keeps its place while its volumes are made. */
const bindTimeoutSeconds = 600;

/**
 * Places a pod where its volumes can be reached. A claim whose class waits for a pod gets its volume on the way: one that
 * exists is given to the claim, or the provisioner is told the node, and the pod is bound when all claims are.
 */
export function volumeBinding(
  deps: VolumeBindingDeps & Partial<VolumePromises>,
  args?: VolumeBindingArgs,
): SchedulerPlugin {
  const { informers, reservations = new Reservations() } = deps;
  const world = { informers, reservations, capacity: new StorageCapacity(informers) };
  const timeoutMs = (args?.bindTimeoutSeconds ?? bindTimeoutSeconds) * 1000;
  const claimsOfAny = (pod: Pod) => (hasClaims(pod) ? claimsOfPod(informers, pod) : undefined);
  return {
    name: "VolumeBinding",
    retryOn: retryHints(informers),

    looksAt: (pod) => (hasClaims(pod) ? partsOf(world, pod) : null),

    candidates(pod) {
      const claims = claimsOfAny(pod);
      return typeof claims === "string" ? rejectFinally(claims) : undefined;
    },

    preFilter(pod) {
      const claims = claimsOfAny(pod);
      return typeof claims === "object" ? claims : undefined;
    },

    filter(_pod, { node }, state) {
      const claims = state as PodClaims;
      if (!node) return fits;
      if (!claims.volumes.every((volume) => isReachable(volume, node))) return unreachable;
      const assignment = assign(world, claims, node);
      return typeof assignment === "string" ? rejectFinally(assignment) : fits;
    },
    ...bindingHooks(deps, world, timeoutMs),
  };
}

type BindingHooks = Pick<SchedulerPlugin, "reserve" | "unreserve" | "preBind" | "untilReady" | "postBind">;

/** What happens after the decision. */
function bindingHooks(deps: VolumeBindingDeps, world: VolumeWorld, timeoutMs: number): BindingHooks {
  const { informers, reservations } = world;
  const waits = new ClaimWaits(deps);
  const release = ({ metadata }: Pod): void => reservations.delete(metadata.uid);
  return {
    reserve(pod, nodeName) {
      if (!hasClaims(pod)) return;
      const claims = claimsOfPod(informers, pod);
      const node = informers.of(Node).get({ name: nodeName });
      const assignment = typeof claims === "object" && node ? assign(world, claims, node) : "";
      if (typeof assignment === "string") throw new Error("the volumes of the pod have changed");
      if (claimsOf(assignment).length > 0) reservations.add(pod.metadata.uid, nodeName, assignment);
    },
    unreserve: release,
    postBind: release,

    preBind(pod, nodeName, signal) {
      const assignment = reservations.of(pod.metadata.uid);
      return assignment && carryOut(deps, { assignment, nodeName }, signal);
    },

    untilReady(pod, nodeName) {
      const assignment = reservations.of(pod.metadata.uid);
      if (!assignment) return undefined;
      const keys = claimsOf(assignment).map(({ key }) => key);
      const isOver = () => areBound(informers, assignment, nodeName);
      return (signal) => waits.wait({ keys, isOver, timeoutMs }, signal);
    },
  };
}

const retryHints = (informers: Informers): RetryHints => ({
  node: (_pod, { change, object, previous }) =>
    // A claim may have been promised to a node that is gone now.
    change === "deleted" || !(previous && equal(previous.metadata.labels, object.metadata.labels)),
  objects: [
    claimHint,
    volumeHint,
    capacityHint,
    driverHint,
    hint(StorageClass, (pod, { type, object }) => {
      if (type === "delete") return false;
      const claims = informers.of(PersistentVolumeClaim);
      const { namespace } = pod.metadata;
      const classes = claimNamesOf(pod).map((name) => claims.get({ namespace, name }));
      return classes.some((claim) => claim && classOfClaim(claim) === object.metadata.name);
    }),
  ],
});
