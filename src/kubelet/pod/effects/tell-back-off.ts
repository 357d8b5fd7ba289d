import type { Pod } from "#api/core/pod.ts";
import { podFullName } from "#kubelet/config/runtime-labels.ts";
import type { PodFacts } from "#kubelet/pod/plan/pod-facts.ts";
import type { BackOff } from "#kubelet/pod/plan/pod-view.ts";
import { formatDuration } from "#schema/duration.ts";
import { containerEvent, type PodDeps } from "../pod-deps.ts";

/** Reports once, by an event and in the status, that a container waits before its restart. */
export function tellBackOff(
  deps: PodDeps,
  { restarts, waiting }: Pick<PodFacts, "restarts" | "waiting">,
  { pod, backOff }: { readonly pod: Pod; readonly backOff: BackOff },
): void {
  const { container, endedId, delayMs } = backOff;
  if (!restarts.isNewExit(container, endedId)) return;
  const name = podFullName(pod);
  const delay = formatDuration(BigInt(delayMs) * 1_000_000n);
  const message = `back-off ${delay} restarting failed container=${container} pod=${name}`;
  waiting.set(container, { reason: "CrashLoopBackOff", message });
  const text = `Back-off restarting failed container ${container} in pod ${name}`;
  containerEvent(deps, pod, container, { type: "Warning", reason: "BackOff", message: text });
}
