import { Pod } from "#api/core/pod.ts";
import { ResourceClaim, resourceClaimFinalizer } from "#api/devices/resource-claim.ts";
import { type InputOf } from "#api/resource.ts";
import { isConflict, isNotFound } from "#api/status.ts";
import { type Client } from "#client/client.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { type ExtendedClaim } from "./extended-wants.ts";

/** Creates the claim that was only planned so far. */
export async function createClaim(
  client: Client,
  { claim: { metadata, spec } }: ExtendedClaim,
  signal: AbortSignal,
): Promise<ResourceClaim> {
  const { name, uid: _, ...rest } = metadata;
  return await client
    .create(ResourceClaim, { metadata: rest, spec } as InputOf<ResourceClaim>, { signal })
    .catch(failed(`create claim for extended resources ${metadata.namespace}/${name}`));
}

/** Notes in the pod which claim provides which of its resources. The kubelet needs it. */
export async function noteClaim(
  { client, signal }: { readonly client: Client; readonly signal: AbortSignal },
  pod: Pod,
  { claim, mappings: requestMappings }: ExtendedClaim,
): Promise<void> {
  await patchNote(client, pod, { note: { requestMappings, resourceClaimName: claim.metadata.name }, signal });
}

/** The kubelet would wait for the claim of an earlier attempt, and ask no device plugin. */
export const clearNote = (client: Client, pod: Pod, signal: AbortSignal): Promise<void> =>
  patchNote(client, pod, { note: null, signal });

async function patchNote(
  client: Client,
  pod: Pod,
  { note, signal }: { readonly note: object | null; readonly signal: AbortSignal },
): Promise<void> {
  const body = { metadata: { uid: pod.metadata.uid }, status: { extendedResourceClaimStatus: note } };
  const what = `update pod ${pod.metadata.namespace}/${pod.metadata.name} ExtendedResourceClaimStatus`;
  await client.patch(Pod, pod, { type: "strategic", body }, { subresource: "status", signal }).catch(failed(what));
}

const maxTries = 5;

/** Removes the claim and frees its devices. Nobody but its pod could use it. */
export async function deleteClaim(
  client: Client,
  { metadata: { namespace, name, uid } }: ResourceClaim,
): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await tryDelete(client, { namespace, name }, uid);
    } catch (error) {
      if (isNotFound(error)) return;
      if (!isConflict(error) || tries === maxTries) throw error;
    }
  }
}

async function tryDelete(client: Client, ref: { namespace: string; name: string }, uid: string): Promise<void> {
  const claim = await client.get(ResourceClaim, ref);
  if (claim.metadata.uid !== uid) return;
  const finalizers = claim.metadata.finalizers ?? [];
  if (finalizers.includes(resourceClaimFinalizer)) {
    const left = finalizers.filter((one) => one !== resourceClaimFinalizer);
    await client.update(ResourceClaim, { ...claim, metadata: { ...claim.metadata, finalizers: left } });
  }
  await client.delete(ResourceClaim, ref, { preconditions: { uid } });
}

const failed =
  (what: string) =>
  (error: unknown): never => {
    throw new Error(`${what}: ${messageOf(error)}`, { cause: error });
  };
