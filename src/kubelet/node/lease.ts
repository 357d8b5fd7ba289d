import { Lease } from "#api/coordination/lease.ts";
import { isAlreadyExists, isConflict, isNotFound } from "#api/status.ts";
import { nodeLeaseNamespace } from "#api/well-known.ts";
import type { Client } from "#client/client.ts";
import { type Clock, microTimestamp } from "#lib/async/clock.ts";
import { isAbort } from "#lib/async/tasks.ts";
import type { Random } from "#lib/data/random.ts";
import type { Log } from "#lib/process/log.ts";

export interface LeaseDeps {
  readonly nodeName: string;
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: Random;
  readonly renewMs: number;
  readonly durationSeconds: number;
  /** The Node's uid, once it is known: the Node owns the lease. */
  nodeUid(): string | undefined;
}

/** After a failure, the next attempt comes sooner. */
const retryMs = 1000;

/** Renews the node's lease every few seconds, until the signal. */
export async function runLease(deps: LeaseDeps, signal: AbortSignal): Promise<void> {
  const { clock, renewMs, random } = deps;
  let held: Lease | undefined;
  // The first renewal is immediate; later ones are spread out among the nodes of a process.
  let pauseMs = renewMs * (0.5 + random() / 2);
  while (!signal.aborted) {
    try {
      held = await renew(deps, held, signal);
      await clock.sleep(pauseMs, signal);
      pauseMs = renewMs;
    } catch (error) {
      if (isAbort(error, signal)) return;
      if (isConflict(error) || isNotFound(error)) held = undefined;
      deps.log.debug("node lease not renewed", { node: deps.nodeName, error });
      await clock.sleep(retryMs, signal);
    }
  }
}

async function renew(deps: LeaseDeps, held: Lease | undefined, signal: AbortSignal): Promise<Lease> {
  const { client, nodeName } = deps;
  if (!held) return await acquire(deps, signal);
  const spec = { ...held.spec, holderIdentity: nodeName, renewTime: microTimestamp(deps.clock.now()) };
  return await client.update(Lease, { ...held, metadata: { ...held.metadata, ...ownedBy(deps) }, spec }, { signal });
}

async function acquire(deps: LeaseDeps, signal: AbortSignal): Promise<Lease> {
  const { client, nodeName: name, clock, durationSeconds } = deps;
  const renewTime = microTimestamp(clock.now());
  const spec = { holderIdentity: name, leaseDurationSeconds: durationSeconds, renewTime };
  try {
    return await client.create(
      Lease,
      { metadata: { namespace: nodeLeaseNamespace, name, ...ownedBy(deps) }, spec },
      { signal },
    );
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
  const there = await client.get(Lease, { namespace: nodeLeaseNamespace, name }, { signal });
  return await client.update(Lease, { ...there, spec: { ...there.spec, ...spec } }, { signal });
}

function ownedBy({ nodeUid, nodeName: name }: LeaseDeps) {
  const uid = nodeUid();
  return uid ? { ownerReferences: [{ apiVersion: "v1", kind: "Node", name, uid }] } : {};
}
