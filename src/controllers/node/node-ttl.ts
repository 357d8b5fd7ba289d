import { Node } from "#api/core/node.ts";
import { ignoreNotFound } from "#api/status.ts";
import { nodeTtlAnnotation } from "#api/well-known.ts";
import { type Reconciler, type ReconcilerDeps } from "#runtime/reconciler.ts";

/** Cluster sizes overlap, so that a node that comes and goes does not change all the others. */
const sizes = [
  { atLeast: 0, atMost: 100, ttlSeconds: 0 },
  { atLeast: 90, atMost: 500, ttlSeconds: 15 },
  { atLeast: 450, atMost: 1000, ttlSeconds: 30 },
  { atLeast: 900, atMost: 2000, ttlSeconds: 60 },
  { atLeast: 1800, atMost: Infinity, ttlSeconds: 300 },
];

/** Tells kubelets for how long they may keep Secrets and config maps: the longer, the more nodes there are. */
export function nodeTtlController({ client, informers }: ReconcilerDeps): Reconciler<Node> {
  let count = 0;
  let size = 0;
  return {
    name: "ttl",
    reconciles: Node,
    // A change of the size reaches every node at its next heartbeat, or now and then.
    resyncMs: 300_000,

    follow: () =>
      informers.of(Node).subscribe((change) => {
        if (change.type === "delete") count--;
        else if (!change.previous) count++;
        size = planSize(size, count);
      }),

    async reconcile({ metadata }, signal) {
      const ttl = String(sizes[size]?.ttlSeconds ?? 0);
      if (metadata.annotations?.[nodeTtlAnnotation] === ttl) return;
      const body = { metadata: { annotations: { [nodeTtlAnnotation]: ttl } } };
      await client.patch(Node, metadata, { type: "merge", body }, { signal }).catch(ignoreNotFound);
    },
  };
}

/** Which of the sizes a cluster with so many nodes has, coming from another one. */
export function planSize(size: number, count: number): number {
  let next = size;
  while (count > (sizes[next]?.atMost ?? Infinity)) next++;
  while (count < (sizes[next]?.atLeast ?? 0)) next--;
  return next;
}
