import { type Pod } from "#api/core/pod.ts";
import { type AllocationResult } from "#api/devices/claim-status.ts";
import { ResourceClaim, resourceClaimFinalizer } from "#api/devices/resource-claim.ts";
import { isConflict, isNotFound } from "#api/status.ts";
import { type Client } from "#client/client.ts";
import { type Clock, timestamp } from "#lib/async/clock.ts";
import { messageOf } from "#lib/text/message-of.ts";

export interface WriteDeps {
  readonly client: Client;
  readonly clock: Clock;
}

export interface ClaimWrite {
  readonly claim: ResourceClaim;
  readonly pod: Pod;
  /** What the claim gets; undefined if it has its devices. */
  readonly allocation: AllocationResult | undefined;
}

const maxTries = 5;

/** Stores the devices of a claim, if it gets any, and that the pod may use it. Returns what was stored. */
export async function writeClaim(deps: WriteDeps, write: ClaimWrite, signal: AbortSignal): Promise<ResourceClaim> {
  let { claim } = write;
  for (let tries = 1; ; tries++) {
    try {
      return await tryWrite(deps, { ...write, claim }, { uid: write.claim.metadata.uid, signal });
    } catch (error) {
      if (!(error instanceof Error) || !isConflict(error.cause) || tries === maxTries) throw error;
      claim = await deps.client.get(ResourceClaim, claim.metadata, { signal });
    }
  }
}

interface Try {
  /** Of the claim that was looked at. Another one may have its name now. */
  readonly uid: string;
  readonly signal: AbortSignal;
}

async function tryWrite({ client, clock }: WriteDeps, write: ClaimWrite, { uid, signal }: Try): Promise<ResourceClaim> {
  const { pod, allocation } = write;
  let { claim } = write;
  const { namespace, name, deletionTimestamp, finalizers = [] } = claim.metadata;
  const shown = `claim ${namespace}/${name}`;
  if (deletionTimestamp || claim.metadata.uid !== uid) throw new Error(`${shown} got deleted in the meantime`);
  if (allocation && claim.status.allocation) throw new Error(`${shown} got allocated elsewhere in the meantime`);
  if (!allocation && !claim.status.allocation) throw new Error(`${shown} got deallocated elsewhere in the meantime`);
  if (allocation && !finalizers.includes(resourceClaimFinalizer)) {
    const metadata = { ...claim.metadata, finalizers: [...finalizers, resourceClaimFinalizer] };
    claim = await client
      .update(ResourceClaim, { ...claim, metadata }, { signal })
      .catch(failed(`add finalizer to ${shown}`));
  }
  const consumer = { resource: "pods", name: pod.metadata.name, uid: pod.metadata.uid };
  const status = {
    ...claim.status,
    // What a claim already has must not change.
    ...(allocation ? { allocation: { allocationTimestamp: timestamp(clock.now()), ...allocation } } : {}),
    reservedFor: [...(claim.status.reservedFor ?? []), consumer],
  };
  const what = allocation ? "add allocation and reservation to" : "add reservation to";
  return await client.updateStatus(ResourceClaim, { ...claim, status }, { signal }).catch(failed(`${what} ${shown}`));
}

const failed =
  (what: string) =>
  (error: unknown): never => {
    throw new Error(`${what}: ${messageOf(error)}`, { cause: error });
  };

/** The pod will not use the claim after all. Its devices stay, for the next attempt. */
export async function unreserve({ client }: WriteDeps, claim: ResourceClaim, pod: Pod): Promise<void> {
  const { uid } = claim.metadata;
  const reservedFor = [{ $patch: "delete", uid: pod.metadata.uid }];
  const body = { metadata: { uid }, status: { reservedFor } };
  try {
    await client.patch(ResourceClaim, claim, { type: "strategic", body }, { subresource: "status" });
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
}

/** Frees the devices of a claim that no other pod uses, so that it can get others. */
export async function deallocate({ client }: WriteDeps, claim: ResourceClaim, signal: AbortSignal): Promise<void> {
  await client.updateStatus(ResourceClaim, { ...claim, status: {} }, { signal });
}
