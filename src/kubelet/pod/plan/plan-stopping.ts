import { isSidecar } from "#api/core/pod/pod-resources.ts";
import type { Pod } from "#api/core/pod.ts";
import type { Life } from "./life.ts";
import { type ContainerRecord, containerNamed, isUp } from "./pod-state.ts";
import { graceOf, isLeaving, type PodPlan, type PodView } from "./pod-view.ts";
import type { Step, StepName } from "./step.ts";

type Stopping = Extract<Life, { phase: "stopping" }>;

/** Stops all containers concurrently, then the sidecars in reverse order of their start, then the sandbox. */
export function planStopping(view: PodView, life: Stopping): Pick<PodPlan, "life" | "steps" | "wakeAt"> {
  const now = hurried(view, life);
  const up = view.containers.filter(isUp);
  if (up.length > 0) {
    const deadline = now.sinceMs + now.graceMs;
    const steps = up.flatMap((record) => planEnd(view, { life: now, up, record }));
    return { life: now, steps, wakeAt: deadline > view.now ? deadline : undefined };
  }
  if (beginnings.some((name) => view.steps.isUnderWay(name))) return { life: now, steps: [], wakeAt: undefined };
  if (view.sandbox?.isReady || view.mayHaveLostSandbox) {
    return { life: now, steps: [{ do: "stopSandboxes" }], wakeAt: undefined };
  }
  return { life: { phase: "stopped", isReleased: false }, steps: [], wakeAt: undefined };
}

/** While one of these steps runs, something may still start, or use what is about to be removed. */
const beginnings: readonly StepName[] = [
  "sandbox",
  "volumes",
  "refresh",
  "image",
  "create",
  "start",
  "postStart",
  "resize",
  "preStop",
  "kill",
  "hurry",
  "stopSandboxes",
];

/** The grace period may be shortened while the pod stops. */
function hurried(view: PodView, life: Stopping): Stopping {
  const graceMs = graceOf(view);
  if (!isLeaving(view) || graceMs >= life.graceMs) return life;
  return { phase: "stopping", sinceMs: view.now, graceMs };
}

interface Ending {
  readonly life: Stopping;
  readonly up: readonly ContainerRecord[];
  readonly record: ContainerRecord;
}

function planEnd({ pod, steps, now }: PodView, { life, up, record }: Ending): Step[] {
  const { id, name: container, askedGraceMs = Number.POSITIVE_INFINITY } = record;
  const leftMs = Math.max(0, life.sinceMs + life.graceMs - now);
  if (steps.isUnderWay("kill", id)) {
    return life.graceMs < askedGraceMs ? [{ do: "hurry", id, graceMs: leftMs }] : [];
  }
  const order = sidecarOrder(pod, container);
  if (order < 0) return [{ do: "kill", container, id, graceMs: leftMs, hook: "run" }];
  const hasHook = containerNamed(pod, container)?.lifecycle?.preStop !== undefined;
  if (hasHook && record.preStop === undefined && leftMs > 0) {
    return [{ do: "preStop", container, id, graceMs: leftMs }];
  }
  const isTurn = !up.some(({ name }) => name !== container && isBefore(sidecarOrder(pod, name), order));
  if (!isTurn && leftMs > 0) return [];
  return [{ do: "kill", container, id, graceMs: leftMs, hook: "skip" }];
}

/** -1 for a container that is not a sidecar. */
const sidecarOrder = ({ spec }: Pod, name: string): number =>
  (spec.initContainers ?? []).filter(isSidecar).findIndex((sidecar) => sidecar.name === name);

const isBefore = (other: number, own: number): boolean => other < 0 || other > own;
