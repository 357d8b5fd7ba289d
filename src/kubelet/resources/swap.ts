import { readFile } from "node:fs/promises";
import type { AnyContainer } from "#api/core/pod/pod-containers.ts";
import { qosClassOf } from "#api/core/pod/pod-resources.ts";
import type { Pod } from "#api/core/pod.ts";
import { quantityValue } from "#api/meta/quantity.ts";
import type { LinuxResources } from "#kubelet/runtime/runtime.ts";
import { isThere } from "#lib/fs/is-there.ts";
import type { CgroupMode } from "./cgroups.ts";
import { isCriticalPod } from "./critical-pod.ts";

/** How containers may use the swap of the machine. */
export interface SwapRules {
  readonly behavior: "NoSwap" | "LimitedSwap";
  readonly mode: CgroupMode;
  /** Whether the kernel can limit swap. */
  readonly canLimit: boolean;
  readonly swapBytes: number;
  readonly memoryBytes: number;
}

/**
 * The part of a container's resources that limits its swap. With LimitedSwap, a container of a Burstable pod gets the share of
 * the swap that its request has of the memory. All others get none, and nobody does on cgroup v1.
 */
export function swapLimit(rules: SwapRules, pod: Pod, container: AnyContainer): Partial<LinuxResources> {
  const { behavior, mode, canLimit, swapBytes } = rules;
  if (!canLimit || swapBytes === 0) return {};
  // With NoSwap, the cgroup of the pod has none already.
  if (mode === "v2" && behavior === "NoSwap") return {};
  if (mode === "v2") return { unified: { "memory.swap.max": String(swapBytesOf(rules, pod, container)) } };
  const memory = bytesOf(container.resources.limits?.memory);
  // The limit of memory and swap together; without a limit of memory the kernel accepts none.
  return memory === 0 ? {} : { memorySwapLimitBytes: memory };
}

export function swapBytesOf(rules: SwapRules, pod: Pod, { resources }: AnyContainer): number {
  const { behavior, mode, swapBytes, memoryBytes } = rules;
  const [request, limit] = [bytesOf(resources.requests?.memory), bytesOf(resources.limits?.memory)];
  if (behavior !== "LimitedSwap" || mode !== "v2" || isCriticalPod(pod)) return 0;
  if (qosClassOf(pod.spec) !== "Burstable" || request === limit) return 0;
  return memoryBytes > 0 && request <= memoryBytes ? Math.floor((request / memoryBytes) * swapBytes) : 0;
}

/** Whether the kernel can limit swap, which depends on how it was built and started. */
export async function canLimitSwap(mode: CgroupMode, root = "/sys/fs/cgroup", proc = "/proc"): Promise<boolean> {
  if (mode !== "v2") return await isThere(`${root}/memory/memory.memsw.limit_in_bytes`);
  // The root group has no such file.
  const own = /^0::(\/[^\n]*)$/m.exec(await readFile(`${proc}/self/cgroup`, "utf8"))?.[1] ?? "/";
  return await isThere(`${root}${own}/memory.swap.max`);
}

/** Whether the machine has swap in use. */
export async function hasSwap(proc = "/proc"): Promise<boolean> {
  const lines = (await readFile(`${proc}/swaps`, "utf8").catch(() => "")).trim().split("\n");
  return lines.length > 1;
}

const bytesOf = (amount: string | undefined): number => (amount === undefined ? 0 : quantityValue(amount));
