import type { Container } from "#api/core/container/container.ts";
import { isSidecar } from "#api/core/pod/pod-resources.ts";
import { hasEndedForGood, mayRestart } from "#api/core/pod/validate/validate-pod-status.ts";
import type { Pod } from "#api/core/pod.ts";
import { containerHash } from "#kubelet/config/runtime-labels.ts";
import type { ProbeResults } from "#kubelet/probes/results.ts";
import { type ContainerRecord, isHookOpen, newestOf, type PodState, type SandboxRecord } from "./pod-state.ts";
import { resizeNeed } from "./resize.ts";

export interface ContainersInput extends PodState {
  readonly pod: Pod;
  readonly probes: ProbeResults;
}

/** What brings the containers of a pod nearer to their wanted state. Everything in it may be done concurrently. */
export interface ContainersPlan {
  /** `create` also means that the containers of an older sandbox are over. */
  readonly sandbox: "keep" | "create";
  /** The number of the next sandbox. */
  readonly attempt: number;
  /** Containers to start. Those that are also in `kill` start after they have ended. */
  readonly start: readonly string[];
  readonly kill: readonly ContainerKill[];
  /** Running containers to resize. */
  readonly resize: readonly ContainerResize[];
  /** Nothing will be started any more: stop what still runs. */
  readonly isFinished: boolean;
}
export interface ContainerResize {
  readonly id: string;
  readonly name: string;
}
export interface ContainerKill {
  readonly id: string;
  readonly name: string;
  readonly message: string;
  /** The probe that failed; it may have its own grace period. */
  readonly probe?: "liveness" | "startup";
}

/** Why a running container must be killed. */
interface Fault {
  /** Follows the container's name in the message. */
  readonly text: string;
  /** Replaces the whole message, if it does not begin with the container's name. */
  readonly message?: string;
  readonly probe?: "liveness" | "startup";
  /** Whether it restarts whatever its restart policy says. */
  readonly isReplaced: boolean;
}

/** Decides which containers to start, kill and resize in a pod that should run. */
export function planContainers(input: ContainersInput): ContainersPlan {
  const { pod, sandbox } = input;
  if (!isUsable(pod, sandbox)) return planNewSandbox(input);
  const init = planInit(input);
  const ephemeral = (pod.spec.ephemeralContainers ?? []).filter(({ name }) => {
    const record = newestOf(input.containers, name);
    return record ? record.state === "created" : !isReportedEnded(pod, name);
  });
  const start = [...ephemeral.map(({ name }) => name), ...init.start];
  const keep = { sandbox: "keep", attempt: sandbox?.attempt ?? 0 } as const;
  if (init.failed) return { ...keep, start: [], kill: [], resize: [], isFinished: true };
  const resize = resizesOf(input);
  if (!init.done) return { ...keep, start, kill: init.kill, resize, isFinished: false };
  const main = planMain(input);
  if (main.isFinished) return { ...keep, start: [], kill: main.kill, resize: [], isFinished: true };
  return { ...keep, start: [...start, ...main.start], kill: [...init.kill, ...main.kill], resize, isFinished: false };
}

/** Whether the sandbox is ready and has its address. */
export const isUsable = ({ spec }: Pod, sandbox: SandboxRecord | undefined): sandbox is SandboxRecord =>
  sandbox?.isReady === true && (spec.hostNetwork === true || sandbox.ips.length > 0);

function planNewSandbox({ pod, sandbox, containers }: ContainersInput): ContainersPlan {
  const { spec } = pod;
  const attempt = sandbox ? sandbox.attempt + 1 : 0;
  const plan = { sandbox: "create", attempt, kill: [], resize: [] } as const;
  const over = { ...plan, sandbox: "keep", start: [], isFinished: true } as const;
  // What has run once must not run twice.
  const once = spec.restartPolicy === "Never" && spec.containers.every(({ restartPolicy }) => !restartPolicy);
  if (once && attempt > 0 && containers.some(({ state }) => state !== "created")) return over;
  const start = spec.containers.filter((container) => {
    const record = newestOf(containers, container.name);
    if (!record) return shouldStart(pod, container, record);
    const policy = container.restartPolicy ?? spec.restartPolicy;
    return !(policy === "OnFailure" && record.state === "exited" && record.exitCode === 0);
  });
  const hasRun = spec.containers.some(({ name }) => newestOf(containers, name) ?? isReportedEnded(pod, name));
  if (start.length === 0 && hasRun) return over;
  const [first] = spec.initContainers ?? [];
  return { ...plan, start: first ? [first.name] : start.map(({ name }) => name), isFinished: false };
}

interface InitPlan {
  readonly start: readonly string[];
  readonly kill: readonly ContainerKill[];
  readonly done: boolean;
  readonly failed: boolean;
}

/**
 * Init containers run one after another. The last one with a record in this sandbox shows how far they came. Those before
 * it are done, and of these only sidecars are kept running.
 */
function planInit(input: ContainersInput): InitPlan {
  const { pod, sandbox, containers } = input;
  const inits = pod.spec.initContainers ?? [];
  const inSandbox = containers.filter(({ sandboxId }) => sandboxId === sandbox?.id);
  const records = inits.map(({ name }) => newestOf(inSandbox, name));
  const isOver = pod.spec.containers.some(({ name }) => newestOf(inSandbox, name));
  const reached = isOver ? inits.length : records.findLastIndex((record) => record !== undefined);
  const start: string[] = [];
  const kill: ContainerKill[] = [];
  for (const [index, container] of inits.slice(0, Math.max(reached, 0)).entries()) {
    if (!isSidecar(container)) continue;
    keepSidecar(input, container, records[index], { start, kill });
  }
  if (reached >= inits.length) return { start, kill, done: true, failed: false };
  const last = inits[reached];
  const record = records[reached];
  if (!last || !record)
    return { start: inits[0] ? [inits[0].name] : [], kill, done: inits.length === 0, failed: false };
  const step = initStep(input, last, record);
  if (step === "failed") return { start: [], kill, done: false, failed: true };
  const fault = isSidecar(last) || record.state !== "unknown" ? undefined : killReason(input, last, record);
  if (fault) kill.push(killFor(record, fault, `Init container ${last.name} ${fault.text}`));
  if (isSidecar(last)) keepSidecar(input, last, record, { start, kill });
  else if (step === "again") start.push(last.name);
  const next = step === "done" ? inits[reached + 1] : undefined;
  if (next) start.push(next.name);
  return { start, kill, done: step === "done" && !next, failed: false };
}

type InitStep = "done" | "waiting" | "again" | "failed";

/** The state of the furthest init container. */
function initStep({ pod, probes }: ContainersInput, container: Container, record: ContainerRecord): InitStep {
  if (isSidecar(container)) {
    if (record.state !== "running" || isHookOpen(record)) return "waiting";
    return !container.startupProbe || probes.startup(record.id) === "success" ? "done" : "waiting";
  }
  if (record.state === "running" || record.state === "unknown") return "waiting";
  if (record.state === "created") return "again";
  if (record.state === "exited" && record.exitCode === 0) return "done";
  return mayRestart(container, pod.spec, record.exitCode) ? "again" : "failed";
}

interface Steps {
  readonly start: string[];
  readonly kill: ContainerKill[];
}

function keepSidecar(
  input: ContainersInput,
  container: Container,
  record: ContainerRecord | undefined,
  { start, kill }: Steps,
): void {
  if (record?.state !== "running" && record?.state !== "unknown") {
    start.push(container.name);
    return;
  }
  const fault = killReason(input, container, record);
  if (!fault) return;
  kill.push(killFor(record, fault, `Init container ${container.name} ${fault.text}`));
  start.push(container.name);
}

function planMain(input: ContainersInput): { start: string[]; kill: ContainerKill[]; isFinished: boolean } {
  const { pod, containers, sandbox } = input;
  const start: string[] = [];
  const kill: ContainerKill[] = [];
  let kept = 0;
  for (const container of pod.spec.containers) {
    const record = newestOf(containers, container.name);
    const isUp = record?.state === "running" || record?.state === "unknown";
    if (!record || !isUp || record.sandboxId !== sandbox?.id) {
      if (shouldStart(pod, container, record)) start.push(container.name);
      continue;
    }
    const fault = killReason(input, container, record);
    if (!fault) {
      kept++;
      continue;
    }
    const policy = container.restartPolicy ?? pod.spec.restartPolicy;
    const restarts = fault.isReplaced || policy !== "Never";
    const message = `Container ${container.name} ${fault.text}${restarts ? ", will be restarted" : ""}`;
    kill.push(killFor(record, fault, message));
    if (restarts) start.push(container.name);
  }
  return { start, kill, isFinished: kept === 0 && start.length === 0 };
}

/** Whether a container that does not run should run. */
export function shouldStart(pod: Pod, container: Container, record: ContainerRecord | undefined): boolean {
  if (!record) return !isReportedEnded(pod, container.name);
  return record.state !== "exited" || mayRestart(container, pod.spec, record.exitCode);
}

/** Whether the API shows that a container has ended for good. The runtime may have lost it since. */
function isReportedEnded({ spec, status }: Pod, name: string): boolean {
  return (["containerStatuses", "ephemeralContainerStatuses"] as const).some((list) =>
    status[list]?.some((reported) => reported.name === name && hasEndedForGood(spec, list, reported)),
  );
}

function resizesOf({ pod, containers }: ContainersInput): ContainerResize[] {
  const all = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
  return all.flatMap((container) => {
    const record = newestOf(containers, container.name);
    const isDue = record?.state === "running" && resizeNeed(container, record.applied) === "update";
    return isDue ? [{ id: record.id, name: record.name }] : [];
  });
}

/** Why a running container must be killed, if it must. */
function killReason({ probes }: ContainersInput, container: Container, record: ContainerRecord): Fault | undefined {
  if (record.state === "unknown") return { text: "is in an unknown state", isReplaced: false };
  if (record.hash !== "" && record.hash !== containerHash(container)) {
    return { text: "definition changed", isReplaced: true };
  }
  if (record.postStart === "failed") return { text: "", message: "FailedPostStartHook", isReplaced: false };
  if (probes.liveness(record.id) === "failure") {
    return { text: "failed liveness probe", probe: "liveness", isReplaced: false };
  }
  if (probes.startup(record.id) === "failure") {
    return { text: "failed startup probe", probe: "startup", isReplaced: false };
  }
  if (resizeNeed(container, record.applied) === "restart") return { text: "resize requires restart", isReplaced: true };
  return undefined;
}

const killFor = ({ id, name }: ContainerRecord, { message, probe }: Fault, text: string): ContainerKill => ({
  id,
  name,
  message: message ?? text,
  ...(probe ? { probe } : {}),
});
