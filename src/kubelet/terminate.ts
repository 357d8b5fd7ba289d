import type { Pod } from "#api/core/pod.ts";
import { isSidecar } from "#api/core/pod-resources.ts";
import { outOfTime, withDeadline } from "#lib/deadline.ts";
import { neverAborted } from "#lib/tasks.ts";
import { runHook } from "./lifecycle-hooks.ts";
import { containerEvent, type PodDeps } from "./pod-deps.ts";
import { type ContainerRecord, containerNamed } from "./pod-state.ts";

/** Even a container that is to end at once gets so long. */
const minGraceMs = 2000;

export interface KillRequest {
  readonly record: ContainerRecord;
  readonly message?: string;
  readonly graceMs: number;
  readonly podIp: string;
  /** Resolves when it is this container's turn to be told. */
  readonly turn?: Promise<unknown>;
}

/** Ends one container: its hook, its turn, then the signal, all within the grace time. Resolves when it has ended. */
export async function killContainer(deps: PodDeps, pod: Pod, request: KillRequest): Promise<void> {
  const { record, graceMs, podIp, turn, message = `Stopping container ${record.name}` } = request;
  const { clock, runtime } = deps;
  containerEvent(deps, pod, record.name, { type: "Normal", reason: "Killing", message });
  const deadline = clock.now() + graceMs;
  const container = containerNamed(pod, record.name);
  const hook = container?.lifecycle?.preStop;
  if (container && hook && graceMs > 0) {
    await within(deps, graceMs, async (signal) => {
      const target = { pod, container, containerId: record.id, podIp };
      try {
        await runHook({ runtime, network: deps.host.network }, target, hook, { clock, signal, timeoutMs: graceMs });
      } catch (error) {
        if (signal.aborted) return;
        deps.log.debug("preStop hook failed", { pod: pod.metadata.name, container: record.name, error });
        const failed = { type: "Warning", reason: "FailedPreStopHook", message: "PreStopHook failed" } as const;
        containerEvent(deps, pod, record.name, failed);
      }
    });
  }
  const left = deadline - clock.now();
  if (turn && left > 0) await within(deps, left, async () => void (await turn));
  await runtime.stopContainer(record.id, Math.max(minGraceMs, deadline - clock.now()));
}

/** Waits for something, but no longer than so long. */
async function within(
  { clock }: PodDeps,
  limitMs: number,
  task: (signal: AbortSignal) => Promise<void>,
): Promise<boolean> {
  return (await withDeadline(limitMs, { clock, signal: neverAborted }, task)) !== outOfTime;
}

export interface KillAllRequest {
  readonly records: readonly ContainerRecord[];
  readonly graceMs: number;
  readonly podIp: string;
  /** Called when one has ended. */
  ended(record: ContainerRecord): Promise<void>;
}

/** Ends all containers of a pod at once; sidecars after the others, the last started of them first. */
export async function killContainers(deps: PodDeps, pod: Pod, request: KillAllRequest): Promise<void> {
  const { records, graceMs, podIp } = request;
  const sidecars = (pod.spec.initContainers ?? []).filter(isSidecar).map(({ name }) => name);
  const orderOf = (name: string) => sidecars.indexOf(name);
  const done = new Map<ContainerRecord, PromiseWithResolvers<void>>();
  for (const record of records) done.set(record, Promise.withResolvers<void>());
  const before = (record: ContainerRecord) =>
    records.filter((other) => orderOf(other.name) < 0 || orderOf(other.name) > orderOf(record.name));
  const kill = async (record: ContainerRecord) => {
    try {
      const waitFor = orderOf(record.name) < 0 ? [] : before(record).map((other) => done.get(other)?.promise);
      const turn = waitFor.length > 0 ? { turn: Promise.all(waitFor) } : {};
      await killContainer(deps, pod, { record, graceMs, podIp, ...turn });
      await request.ended(record);
    } finally {
      done.get(record)?.resolve();
    }
  };
  await Promise.all(records.map(kill));
}
