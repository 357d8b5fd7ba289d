import type { Container } from "#api/core/container.ts";
import type { Pod } from "#api/core/pod.ts";
import { isSidecar } from "#api/core/pod-resources.ts";
import { mayRestart } from "#api/core/validate-pod-status.ts";
import { type ContainerRecord, newestOf, type PodState, type SandboxRecord } from "./pod-state.ts";
import { resizeNeed } from "./resize.ts";
import { containerHash } from "./runtime-labels.ts";

export type ProbeResult = "success" | "failure" | "unknown";

/** The last word of a container's probes; undefined while they have said nothing. */
export interface ProbeResults {
  startup(containerId: string): ProbeResult | undefined;
  liveness(containerId: string): ProbeResult | undefined;
}

export interface PlanInput extends PodState {
  readonly pod: Pod;
  readonly probes: ProbeResults;
}

/** What brings a pod one step nearer to what it should be. Everything in it may be done at once. */
export interface PodPlan {
  /** `create` also means that what an older sandbox held is over. */
  readonly sandbox: "keep" | "create";
  /** Which sandbox of the pod the next one is. */
  readonly attempt: number;
  /** Containers to start, those in `kill` after they have ended. */
  readonly start: readonly string[];
  readonly kill: readonly ContainerKill[];
  /** Running containers that are to get other resources. */
  readonly resize: readonly ContainerResize[];
  /** Nothing will be started any more: end what still runs. */
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
  /** The probe that condemned it: it may have a grace period of its own. */
  readonly probe?: "liveness" | "startup";
}

/** Decides, without acting, what to do next for a pod that is to run. */
export function planPod(input: PlanInput): PodPlan {
  const { pod, sandbox } = input;
  if (!isUsable(pod, sandbox)) return planNewSandbox(input);
  const init = planInit(input);
  const ephemeral = (pod.spec.ephemeralContainers ?? []).filter(({ name }) => !newestOf(input.containers, name));
  const start = [...ephemeral.map(({ name }) => name), ...init.start];
  const keep = { sandbox: "keep", attempt: sandbox?.attempt ?? 0 } as const;
  if (init.failed) return { ...keep, start: [], kill: [], resize: [], isFinished: true };
  const resize = resizesOf(input);
  if (!init.done) return { ...keep, start, kill: init.kill, resize, isFinished: false };
  const main = planMain(input);
  if (main.isFinished) return { ...keep, start: [], kill: main.kill, resize: [], isFinished: true };
  return { ...keep, start: [...start, ...main.start], kill: [...init.kill, ...main.kill], resize, isFinished: false };
}

/** A sandbox that stands and has its address. */
export const isUsable = ({ spec }: Pod, sandbox: SandboxRecord | undefined): sandbox is SandboxRecord =>
  sandbox?.isReady === true && (spec.hostNetwork === true || sandbox.ips.length > 0);

function planNewSandbox({ pod, sandbox, containers }: PlanInput): PodPlan {
  const { spec } = pod;
  const attempt = sandbox ? sandbox.attempt + 1 : 0;
  const plan = { sandbox: "create", attempt, kill: [], resize: [] } as const;
  const over = { ...plan, sandbox: "keep", start: [], isFinished: true } as const;
  // What has run once is not to run twice.
  const once = spec.restartPolicy === "Never" && spec.containers.every(({ restartPolicy }) => !restartPolicy);
  if (once && attempt > 0 && containers.length > 0) return over;
  const start = spec.containers.filter((container) => {
    const record = newestOf(containers, container.name);
    const policy = container.restartPolicy ?? spec.restartPolicy;
    return !(policy === "OnFailure" && record?.state === "exited" && record.exitCode === 0);
  });
  const hasRun = spec.containers.some(({ name }) => newestOf(containers, name));
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
 * Init containers run one after the other. How far they came shows in the last that has a record in this sandbox; those
 * before it are done, and of these only sidecars are kept running.
 */
function planInit(input: PlanInput): InitPlan {
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
  if (isSidecar(last)) keepSidecar(input, last, record, { start, kill });
  else if (step === "again") start.push(last.name);
  const next = step === "done" ? inits[reached + 1] : undefined;
  if (next) start.push(next.name);
  return { start, kill, done: step === "done" && !next, failed: false };
}

/** For one of which nobody knows how it ended. */
const lostExitCode = 137;
type InitStep = "done" | "waiting" | "again" | "failed";

/** Where the furthest init container stands. */
function initStep({ pod, probes }: PlanInput, container: Container, record: ContainerRecord): InitStep {
  if (isSidecar(container)) {
    if (record.state !== "running") return "waiting";
    return !container.startupProbe || probes.startup(record.id) === "success" ? "done" : "waiting";
  }
  if (record.state === "running") return "waiting";
  if (record.state === "created") return "again";
  if (record.state === "exited" && record.exitCode === 0) return "done";
  const exitCode = record.state === "exited" ? record.exitCode : lostExitCode;
  return mayRestart(container, pod.spec, exitCode) ? "again" : "failed";
}

interface Steps {
  readonly start: string[];
  readonly kill: ContainerKill[];
}

function keepSidecar(
  input: PlanInput,
  container: Container,
  record: ContainerRecord | undefined,
  { start, kill }: Steps,
): void {
  if (record?.state !== "running") {
    start.push(container.name);
    return;
  }
  const verdict = condemn(input, container, record);
  if (!verdict) return;
  kill.push({ id: record.id, name: container.name, ...verdict, message: `Init container ${verdict.message}` });
  start.push(container.name);
}

function planMain(input: PlanInput): { start: string[]; kill: ContainerKill[]; isFinished: boolean } {
  const { pod, containers, sandbox } = input;
  const start: string[] = [];
  const kill: ContainerKill[] = [];
  let kept = 0;
  for (const container of pod.spec.containers) {
    const record = newestOf(containers, container.name);
    const isRunning = record?.state === "running" && record.sandboxId === sandbox?.id;
    if (!record || !isRunning) {
      if (shouldStart(pod, container, record)) start.push(container.name);
      continue;
    }
    const verdict = condemn(input, container, record);
    if (!verdict) {
      kept++;
      continue;
    }
    const policy = container.restartPolicy ?? pod.spec.restartPolicy;
    const restarts = verdict.probe === undefined || policy !== "Never";
    const message = `Container ${verdict.message}${restarts ? ", will be restarted" : ""}`;
    kill.push({ id: record.id, name: container.name, ...verdict, message });
    if (restarts) start.push(container.name);
  }
  return { start, kill, isFinished: kept === 0 && start.length === 0 };
}

/** Whether a container that does not run is to run. */
export function shouldStart(pod: Pod, container: Container, record: ContainerRecord | undefined): boolean {
  if (record?.state !== "exited") return true;
  return mayRestart(container, pod.spec, record.exitCode);
}

function resizesOf({ pod, containers }: PlanInput): ContainerResize[] {
  const all = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
  return all.flatMap((container) => {
    const record = newestOf(containers, container.name);
    const isDue = record?.state === "running" && resizeNeed(container, record.applied) === "update";
    return isDue ? [{ id: record.id, name: record.name }] : [];
  });
}

/** Why a running container must end, if it must. */
function condemn(
  { probes }: PlanInput,
  container: Container,
  record: ContainerRecord,
): Pick<ContainerKill, "message" | "probe"> | undefined {
  const { name } = container;
  if (record.hash !== "" && record.hash !== containerHash(container)) return { message: `${name} definition changed` };
  if (probes.liveness(record.id) === "failure") return { message: `${name} failed liveness probe`, probe: "liveness" };
  if (probes.startup(record.id) === "failure") return { message: `${name} failed startup probe`, probe: "startup" };
  if (resizeNeed(container, record.applied) === "restart") return { message: `${name} resize requires restart` };
  return undefined;
}
