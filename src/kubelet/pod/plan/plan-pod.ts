import { isFinished } from "#api/core/pod/pod-state.ts";
import type { Pod } from "#api/core/pod.ts";
import { isOver, type Life, type PodVerdict } from "./life.ts";
import { type ContainersPlan, planContainers } from "./plan-containers.ts";
import { planStopping } from "./plan-stopping.ts";
import { type ContainerRecord, containerNamed, isUp, newestOf } from "./pod-state.ts";
import { type BackOff, graceOf, isLeaving, type PodPlan, type PodView } from "./pod-view.ts";
import { resizeNeed } from "./resize.ts";
import type { Step } from "./step.ts";

/** Decides, without acting, what to do next for a pod. The same view gives the same plan. */
export function planPod(view: PodView): PodPlan {
  const { life } = view;
  if (isOver(life) || life.phase === "admitting") return nothing(life);
  const looks = Array.from(view.toLookAt, (id): Step => ({ do: "look", id }));
  const plan = planLife(view);
  return { ...plan, steps: [...looks, ...plan.steps], reports: !view.isGone && plan.life.phase !== "cleaning" };
}

function planLife(view: PodView): PodPlan {
  switch (view.life.phase) {
    case "running":
      return planRunning(view);
    case "stopping":
      return { ...nothing(view.life), ...planStopping(view, view.life) };
    case "stopped":
      return planStopped(view, view.life);
    case "cleaning":
      return { ...nothing(view.life), steps: [{ do: "clean" }] };
    default:
      return nothing(view.life);
  }
}

const nothing = (life: Life): PodPlan => ({
  life,
  steps: [],
  backOffs: [],
  startsResize: false,
  reports: false,
  wakeAt: undefined,
});

function planRunning(view: PodView): PodPlan {
  const { pod, now } = view;
  const deadline = deadlineOf(pod);
  const verdict = view.verdict ?? (deadline !== undefined && deadline <= now ? tooOld : undefined);
  const stopping: Life = { phase: "stopping", sinceMs: now, graceMs: graceOf(view) };
  if (verdict) return { ...nothing(stopping), verdict };
  if (isLeaving(view) || isFinished(pod)) return nothing(stopping);
  const containers = planContainers(view);
  if (containers.isFinished) return nothing(stopping);
  const starts = planStarts(view, containers);
  const backOffs = starts.flatMap((start) => start.backOff ?? []);
  const times = [deadline, ...backOffs.map(({ at }) => at), refreshTime(view)];
  const isDue = containers.resize.length > 0;
  return {
    ...nothing(view.life),
    steps: [
      ...planSandbox(view, containers),
      ...planVolumes(view),
      ...planResize(view, containers),
      ...containers.kill.map(({ id, name, message, probe }): Step => {
        const graceMs = killGrace(pod, name, probe);
        return { do: "kill", container: name, id, message, graceMs, hook: "run" };
      }),
      ...planStrays(view, containers),
      ...starts.flatMap(({ step }) => step ?? []),
      ...planHooks(view),
      ...planDiscards(view),
    ],
    backOffs,
    startsResize: isDue && !view.isResizing,
    wakeAt: earliest(times, now),
  };
}

/** Ends a resize only after every container has its new resources; those that must restart for them have to end first. */
function planResize({ pod, containers, isResizing }: PodView, { resize: resizes }: ContainersPlan): Step[] {
  const waits = containers.some((record) => {
    const container = containerNamed(pod, record.name);
    return isUp(record) && container !== undefined && resizeNeed(container, record.applied) !== "none";
  });
  return resizes.length > 0 || (isResizing && !waits) ? [{ do: "resize", resizes }] : [];
}

/** A sandbox is not replaced while something may still start in it. */
function planSandbox({ steps }: PodView, { sandbox, attempt }: ContainersPlan): Step[] {
  const isBusy = steps.isUnderWay("create") || steps.isUnderWay("start");
  return sandbox === "create" && !isBusy ? [{ do: "sandbox", attempt }] : [];
}

/** Containers in a replaced sandbox, which were started as it went down. */
function planStrays({ pod, containers, sandbox }: PodView, plan: ContainersPlan): Step[] {
  if (plan.sandbox === "create") return [];
  const strays = containers.filter((record) => isUp(record) && record.sandboxId !== sandbox?.id);
  return strays.map(({ id, name }) => {
    const graceMs = killGrace(pod, name, undefined);
    return { do: "kill", container: name, id, message: `Stopping container ${name}`, graceMs, hook: "run" };
  });
}

const tooOld: PodVerdict = {
  reason: "DeadlineExceeded",
  message: "Pod was active on the node longer than the specified deadline",
};

function deadlineOf({ spec, status }: Pod): number | undefined {
  if (spec.activeDeadlineSeconds === undefined || !status.startTime) return undefined;
  return Date.parse(status.startTime) + spec.activeDeadlineSeconds * 1000;
}

/** The first of these times that is in the future. */
function earliest(times: readonly (number | undefined)[], now: number): number | undefined {
  const next = Math.min(...times.map((time) => (time !== undefined && time > now ? time : Number.POSITIVE_INFINITY)));
  return Number.isFinite(next) ? next : undefined;
}

const refreshTime = ({ volumes }: PodView): number | undefined =>
  volumes.is === "mounted" ? volumes.refreshAt : undefined;

function planVolumes(view: PodView): Step[] {
  if (view.volumes.is === "unmounted") return [{ do: "volumes" }];
  const at = refreshTime(view);
  return at !== undefined && at <= view.now ? [{ do: "refresh" }] : [];
}

function killGrace(pod: Pod, name: string, probe: "liveness" | "startup" | undefined): number {
  const own = probe && containerNamed(pod, name)?.[`${probe}Probe`]?.terminationGracePeriodSeconds;
  return (own ?? pod.spec.terminationGracePeriodSeconds) * 1000;
}

interface StartPlan {
  readonly step?: Step;
  readonly backOff?: BackOff;
}

function planStarts(view: PodView, plan: ContainersPlan): StartPlan[] {
  const beginning = new Set<string>();
  return plan.start.map((name) => {
    const start = isHeldBack(view, beginning, name) ? {} : planStart(view, plan, name);
    if (start.step) beginning.add(name);
    return start;
  });
}

/** The next step towards a running container: its image, then its creation, then its start. */
function planStart(view: PodView, plan: ContainersPlan, name: string): StartPlan {
  const { pod, containers, steps, now } = view;
  const container = containerNamed(pod, name);
  const last = newestOf(containers, name);
  const isHere = plan.sandbox === "keep" && last?.sandboxId === view.sandbox?.id;
  if (!container || isBusy(view, last)) return {};
  if (last?.state === "created" && isHere) return { step: { do: "start", container: name, id: last.id } };
  if (last?.state === "exited" && isHere) {
    const decision = view.restarts.decide(name, last, now);
    const { delayMs } = decision.backoff;
    if (decision.at !== "now") return { backOff: { container: name, endedId: last.id, delayMs, at: decision.at } };
  }
  const create: Step = { do: "create", container: name };
  if (steps.isUnderWay("image", name) || steps.isUnderWay("create", name) || steps.isWaiting(create)) return {};
  if (!view.images.has(name)) return canGoOn(view, plan) ? { step: { do: "image", container: name } } : {};
  const isPlaceReady = plan.sandbox === "keep" && view.volumes.is === "mounted";
  return isPlaceReady ? { step: create } : {};
}

/** A step is running for the last container of this name, which must end first. */
function isBusy({ steps }: PodView, last: ContainerRecord | undefined): boolean {
  if (!last) return false;
  return isUp(last) || steps.isUnderWay("start", last.id) || steps.isUnderWay("kill", last.id);
}

/** A container may rely on the postStart hook of a container before it. */
function isHeldBack({ pod, containers, steps }: PodView, beginning: ReadonlySet<string>, name: string): boolean {
  const at = pod.spec.containers.findIndex((one) => one.name === name);
  return pod.spec.containers.slice(0, Math.max(0, at)).some((before) => {
    if (!before.lifecycle?.postStart) return false;
    if (beginning.has(before.name) || steps.isUnderWay("image", before.name)) return true;
    const record = newestOf(containers, before.name);
    const isOpen = record?.state === "running" && record.postStart === "open";
    return isOpen || steps.isUnderWay("create", before.name) || steps.isUnderWay("start", record?.id ?? "");
  });
}

/** Without a sandbox or volumes, images are not pulled either. */
function canGoOn({ steps, volumes }: PodView, plan: ContainersPlan): boolean {
  const hasSandbox = plan.sandbox === "keep" || !steps.isWaiting({ do: "sandbox", attempt: plan.attempt });
  return hasSandbox && (volumes.is === "mounted" || !steps.isWaiting({ do: "volumes" }));
}

function planHooks({ containers }: PodView): Step[] {
  const open = containers.filter(({ state, postStart }) => state === "running" && postStart === "open");
  return open.map(({ id, name }) => ({ do: "postStart", container: name, id }));
}

/** Discards all containers but the newest of each name and the one before it, whose logs and exit state are kept. */
function planDiscards({ containers }: PodView): Step[] {
  const byName = Map.groupBy(containers, ({ name }) => name);
  return [...byName.values()].flatMap((own) => own.slice(2).map(({ id }): Step => ({ do: "discard", id })));
}

function planStopped(view: PodView, life: Extract<Life, { phase: "stopped" }>): PodPlan {
  const { isGone, steps } = view;
  if (steps.isUnderWay("release") || steps.isUnderWay("remove")) return nothing(life);
  if (isGone) return { ...nothing({ phase: "cleaning" }), steps: [{ do: "clean" }] };
  if (isLeaving(view)) return { ...nothing(life), steps: [{ do: "remove" }] };
  return { ...nothing(life), steps: life.isReleased ? [] : [{ do: "release" }] };
}
