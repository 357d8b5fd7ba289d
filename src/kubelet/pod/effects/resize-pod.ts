import type { Pod } from "#api/core/pod.ts";
import { quantityValue } from "#api/meta/quantity.ts";
import type { ContainerResize } from "#kubelet/pod/plan/plan-containers.ts";
import type { PodRecords } from "#kubelet/pod/plan/pod-records.ts";
import { type ContainerRecord, containerNamed } from "#kubelet/pod/plan/pod-state.ts";
import { type Allocation, resizeNeed } from "#kubelet/pod/plan/resize.ts";
import { containerResources } from "#kubelet/resources/linux-resources.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { type PodDeps } from "../pod-deps.ts";

export interface ResizeRequest {
  readonly resizes: readonly ContainerResize[];
  readonly records: PodRecords;
  readonly allocation: Allocation;
}

/** Applies a pod's granted resources as far as possible. Containers that need a restart get theirs when they restart. */
export async function resizePod(deps: PodDeps, pod: Pod, request: ResizeRequest): Promise<void> {
  const { records, allocation } = request;
  try {
    await resizeContainers(deps, pod, request);
    const waits = records.running.some(({ name, applied }) => needsResize(pod, name, applied));
    if (waits) return;
    await deps.host.setLimits(pod, "own");
    allocation.completed();
  } catch (error) {
    allocation.failed(messageOf(error));
    throw error;
  }
}

/** Resizes running containers, those that shrink first, while the pod's own limits are lifted. */
async function resizeContainers(deps: PodDeps, pod: Pod, { resizes, records }: ResizeRequest): Promise<void> {
  const { host, runtime } = deps;
  // The kernel does not allow a cgroup more than its parent has.
  await host.setLimits(pod, "none");
  const due = resizes.flatMap(({ id, name }) => {
    const record = records.get(id);
    const container = containerNamed(pod, name);
    return record && container ? [{ record, container, growth: growthOf(pod, record) }] : [];
  });
  for (const { record, container } of due.toSorted((a, b) => a.growth - b.growth)) {
    const { oomScoreAdj: _, ...resources } = containerResources(pod, container, host.resourceRules(pod, container));
    // A limit that was removed must be reset explicitly.
    await runtime.updateResources(record.id, { cpuQuotaUs: -1, ...resources });
    const now = records.get(record.id);
    if (now) records.put({ ...now, applied: container.resources });
  }
}

function growthOf(pod: Pod, { name, applied }: ContainerRecord): number {
  const memory = (limits: Readonly<Record<string, string>> = {}) => quantityValue(limits.memory ?? "0");
  return memory(containerNamed(pod, name)?.resources.limits) - memory(applied?.limits);
}

function needsResize(pod: Pod, name: string, applied: ContainerRecord["applied"]): boolean {
  const container = containerNamed(pod, name);
  return container !== undefined && resizeNeed(container, applied) !== "none";
}
