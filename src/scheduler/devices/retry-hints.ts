import { resourceClaimKeysOf } from "#api/core/pod/pod-references.ts";
import { type Pod } from "#api/core/pod.ts";
import { DeviceClass } from "#api/devices/device-class.ts";
import { ResourceClaim } from "#api/devices/resource-claim.ts";
import { ResourceSlice } from "#api/devices/resource-slice.ts";
import { isControlledBy } from "#api/meta/owner.ts";
import { equal } from "#lib/data/equal.ts";
import { type Change } from "#runtime/informer.ts";
import { hint, type NodeChange, type RetryHints } from "../framework.ts";

/** What may help a pod that found no devices. */
export const deviceHints: RetryHints = {
  node: (_pod: Pod, { object, previous }: NodeChange) =>
    !(previous && equal(previous.metadata.labels, object.metadata.labels)),
  objects: [
    hint(ResourceClaim, claimMayHelp),
    hint(ResourceSlice, (_pod, { type }) => type === "put"),
    hint(DeviceClass, (_pod, { type }) => type === "put"),
  ],
};

/** Devices became free, or a claim of the pod has changed. */
function claimMayHelp(pod: Pod, change: Change<ResourceClaim>): boolean {
  const { type, object } = change;
  // What an earlier attempt has left may have no devices yet.
  if (type === "delete") return object.status.allocation !== undefined || isControlledBy(object, pod);
  const { previous } = change;
  if (previous?.status.allocation && !object.status.allocation) return true;
  const { namespace, name } = object.metadata;
  if (namespace !== pod.metadata.namespace || !resourceClaimKeysOf(pod).includes(`${namespace}/${name}`)) return false;
  return !previous || !equal(previous.status, object.status);
}
