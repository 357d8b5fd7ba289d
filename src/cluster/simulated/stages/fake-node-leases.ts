import { Lease } from "#api/coordination/lease.ts";
import { Node } from "#api/core/node.ts";
import { nodeLeaseNamespace } from "#api/well-known.ts";
import { microTimestamp } from "#lib/async/clock.ts";
import { againAfter, type Reconciler, type ReconcilerDeps } from "#runtime/reconciler.ts";
import { isFake } from "./stage-nodes.ts";

const durationSeconds = 40;
const renewMs = 10_000;

/** Renews the leases of nodes that have no kubelet because a user has made them up. */
export function fakeNodeLeases({ client, clock }: ReconcilerDeps): Reconciler<Node> {
  const renewed = new Map<string, number>();
  return {
    name: "fake-node-leases",
    reconciles: Node,
    concerns: isFake,
    async reconcile({ metadata }, signal) {
      const { name, uid } = metadata;
      const leftMs = (renewed.get(name) ?? -renewMs) + renewMs - clock.now();
      if (leftMs > 0) return againAfter(leftMs);
      renewed.set(name, clock.now());
      const ownerReferences = [{ apiVersion: "v1", kind: Node.kind, name, uid }];
      const renewTime = microTimestamp(clock.now());
      const spec = { holderIdentity: name, leaseDurationSeconds: durationSeconds, renewTime };
      const lease = { metadata: { namespace: nodeLeaseNamespace, name, ownerReferences }, spec };
      await client.apply(Lease, lease, { fieldManager: "stages", force: true, signal });
      return againAfter(renewMs);
    },
    async gone({ name }) {
      renewed.delete(name);
    },
  };
}
