import type { Container } from "#api/core/container/container.ts";
import type { Pod } from "#api/core/pod.ts";
import { mergeHints } from "#kubelet/placement/merge-hints.ts";
import { maskOf } from "#kubelet/placement/numa-mask.ts";
import { placeable } from "#kubelet/placement/placement.ts";
import { PlacementError, type Placements } from "#kubelet/placement/placements.ts";
import { messageOf } from "#lib/text/message-of.ts";
import type { Rejection } from "./admit.ts";
import { type Devices, deviceRequest, mayWantDevices, podDeviceRequest } from "./admit-devices.ts";

/** What pods can have for themselves on this node. */
export interface OwnResources {
  readonly devices: Devices | undefined;
  /** Processors and memory; absent if the policies are `none` and `None`. */
  readonly placements: Placements | undefined;
}

export const mayWantResources = ({ placements }: OwnResources, pod: Pod): boolean =>
  mayWantDevices(pod) || (placements?.wants(pod) ?? false);

/**
 * Gives all containers of a pod their devices, processors and memory before the pod starts. Otherwise gives none, and says why.
 * What the pods that have ended had is taken back first. Never rejects: a pod that is not judged would never end. Two pods must not
 * be admitted at the same time.
 */
export async function admitResources(
  own: OwnResources,
  pod: Pod,
  others: readonly string[],
): Promise<Rejection | undefined> {
  const { devices, placements } = own;
  const { uid } = pod.metadata;
  try {
    placements?.keepOnly(new Set(others));
    // It may have been placed before a restart. What it has would not count as free for it.
    placements?.release(uid);
    if (mayWantDevices(pod)) await devices?.keepOnly(new Set([uid, ...others]));
    await giveAll(own, pod);
    await placements?.save();
    return undefined;
  } catch (error) {
    // Where even that fails, as on a full disk, the next admission takes them back.
    await devices?.release(uid).catch(() => {});
    placements?.release(uid);
    return rejectionOf(error);
  }
}

async function giveAll({ devices, placements }: OwnResources, pod: Pod): Promise<void> {
  const scope = placements?.rules.scope;
  const together = placements && scope === "pod" ? bestNodes({ devices, placements }, pod) : undefined;
  for (const container of placeable(pod)) {
    const best = together ?? (placements ? bestNodes({ devices, placements }, pod, container) : anywhere);
    placements?.place(pod, container, best);
    await devices?.allocate({ ...deviceRequest(pod, container), mask: best.mask });
  }
}

const anywhere = { mask: undefined, isPreferred: false };

/** The NUMA nodes for a container, or for the whole pod. Throws if the policy does not accept what there is. */
export function bestNodes(
  { devices, placements }: { readonly devices: Devices | undefined; readonly placements: Placements },
  pod: Pod,
  container?: Container,
) {
  const { merge } = placements.rules;
  if (merge.policy === "none") return anywhere;
  const known = maskOf(merge.nodes.map(({ id }) => id));
  const request = container ? deviceRequest(pod, container) : podDeviceRequest(pod);
  const hints = [
    ...placements.hints({ pod, ...(container ? { container } : {}) }),
    ...(devices?.hints(request, known) ?? []),
  ];
  const best = mergeHints(merge, hints);
  if (best.isAdmitted) return best;
  throw new PlacementError({
    reason: "TopologyAffinityError",
    message: "Resources cannot be allocated with Topology locality",
  });
}

function rejectionOf(error: unknown): Rejection {
  if (error instanceof PlacementError) return { reason: error.reason, message: error.message };
  const message = `Allocate failed due to ${messageOf(error)}, which is unexpected`;
  return { reason: "UnexpectedAdmissionError", message };
}
