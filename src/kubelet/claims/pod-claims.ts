import { ResourceClaim } from "#api/devices/resource-claim.ts";
import type { Client } from "#client/client.ts";
import type { PodClaims } from "#kubelet/pod/pod-deps.ts";
import { type ClaimManager, hasClaims } from "./claim-manager.ts";

/** What pods need of the manager. Those without claims cost nothing. */
export const podClaims = (manager: ClaimManager, client: Client): PodClaims => ({
  async prepare(pod) {
    if (!hasClaims(pod)) return;
    await manager.prepare(pod, (namespace, name) => client.get(ResourceClaim, { namespace, name }));
  },
  devicesOf: (pod, container) => (hasClaims(pod) ? manager.devicesOf(pod, container) : []),
  async unprepare(pod) {
    if (hasClaims(pod)) await manager.unprepare(pod);
  },
});
