import { Node } from "#api/core/node.ts";
import { Backoff } from "#lib/async/backoff.ts";
import { type Clock } from "#lib/async/clock.ts";
import { withDeadline } from "#lib/async/deadline.ts";
import { Nudge } from "#lib/async/nudge.ts";
import { type Log } from "#lib/process/log.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { type Informers } from "#runtime/informer.ts";
import { applyRoutes, readLinks } from "./apply-routes.ts";
import { type Peer, planRoutes } from "./plan-routes.ts";

export interface RoutesDeps {
  readonly nodeName: string;
  /** This node's address. */
  readonly address: string;
  readonly podCidr: string;
  readonly clusterCidr: string;
  /** The ranges of IPv6, if the cluster has both families. */
  readonly podCidr6?: string | undefined;
  readonly clusterCidr6?: string | undefined;
  readonly tunnelName: string;
  readonly informers: Informers;
  readonly clock: Clock;
  readonly log: Log;
}

/** Others may remove routes, and links come and go without an event. */
const checkMs = 30_000;
const retries = { baseMs: 1_000, maxMs: checkMs };

/** Keeps the routes to the pods of the other nodes, until the signal. They stay after that, so traffic continues. */
export async function runRoutes(deps: RoutesDeps, signal: AbortSignal): Promise<void> {
  const { informers, clock, log } = deps;
  const nodes = informers.of(Node);
  await nodes.synced(signal);
  const changed = new Nudge();
  const places = new Map<string, string>();
  const stop = nodes.subscribe(({ type, object }) => {
    const place = type === "put" ? JSON.stringify(peerOf(object)) : undefined;
    if (places.get(object.metadata.name) === place) return;
    if (place === undefined) places.delete(object.metadata.name);
    else places.set(object.metadata.name, place);
    changed.give();
  });
  const backoff = new Backoff(retries);
  let complaint = "";
  try {
    while (!signal.aborted) {
      let pauseMs = checkMs;
      try {
        const peers = nodes.list().map(peerOf);
        const plan = planRoutes({
          ...deps,
          links: await readLinks(),
          peers: peers.filter(({ name }) => name !== deps.nodeName),
        });
        const calls = await applyRoutes(plan, deps);
        backoff.reset();
        complaint = "";
        if (calls > 0) log.info("routes to pods changed", { routes: plan.routes.length, tunnel: Boolean(plan.tunnel) });
      } catch (error) {
        // A lasting fault, such as a kernel without VXLAN, is told once.
        const message = messageOf(error);
        if (message !== complaint) log.error("routes to the pods of other nodes could not be set", { error });
        complaint = message;
        pauseMs = backoff.nextMs();
      }
      await withDeadline(pauseMs, { clock, signal }, () => changed.taken());
    }
  } finally {
    stop();
  }
}

function peerOf({ metadata, spec, status }: Node): Peer {
  return {
    name: metadata.name,
    address: status?.addresses?.find(({ type }) => type === "InternalIP")?.address ?? "",
    podCidr: spec?.podCIDR ?? "",
    podCidr6: spec?.podCIDRs?.find((cidr) => cidr.includes(":")) ?? "",
    createdAt: metadata.creationTimestamp ?? "",
  };
}
