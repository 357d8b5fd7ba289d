import type { Pod } from "#api/core/pod.ts";
import type { AnyContainer } from "#api/core/pod-containers.ts";
import type { Waiting } from "./container-status.ts";
import type { MountedVolumes } from "./host.ts";
import { type ImageFault, ImageVolumes } from "./image-volumes.ts";
import type { ImageFailure } from "./images/puller.ts";
import { runPostStart } from "./lifecycle-hooks.ts";
import { isUsable } from "./plan-pod.ts";
import { type PodDeps, podEvent } from "./pod-deps.ts";
import type { HopFacts } from "./pod-hops.ts";
import type { PodRecords } from "./pod-records.ts";
import { type ContainerRecord, type SandboxRecord, statusNamed } from "./pod-state.ts";
import type { CheckTarget } from "./probes/run-probe.ts";
import {
  type ContainerRun,
  createContainer,
  createSandbox,
  ensureImage,
  planSandbox,
  StartFailure,
  startContainer,
} from "./run-pod.ts";
import type { SandboxConfig } from "./runtime/runtime.ts";
import { RetryLater, type Steps } from "./steps.ts";
import { killContainer } from "./terminate.ts";

/** What starting needs of the pod's worker. */
export interface StarterContext {
  readonly deps: PodDeps;
  readonly records: PodRecords;
  readonly steps: Steps;
  /** Why containers do not run, for the status. */
  readonly waiting: Map<string, Waiting>;
  /** The pod is to end: nothing more is begun. */
  readonly signal: AbortSignal;
  pod(): Pod;
  volumes(): MountedVolumes | undefined;
  target(container: AnyContainer, id: string): CheckTarget;
  hop<T>(step: string, facts: HopFacts, work: () => Promise<T>): Promise<T>;
  /** A container runs, and may be asked how it is. */
  started(record: ContainerRecord): void;
  wake(): void;
}

/** Makes the sandboxes of one pod and starts its containers, one step at a time of each. */
export class PodStarter {
  readonly #context: StarterContext;
  readonly #imageVolumes: ImageVolumes;
  /** How often something could not be made. It may be there all the same, and its number is taken then. */
  readonly #lost = new Map<string, number>();
  #config: SandboxConfig | undefined;

  constructor(context: StarterContext) {
    this.#context = context;
    this.#imageVolumes = new ImageVolumes(context.deps);
  }

  async createSandbox(attempt: number): Promise<void> {
    const { deps, records, hop } = this.#context;
    const pod = this.#context.pod();
    const before = records.state.sandbox;
    if (before) {
      const message = "Pod sandbox changed, it will be killed and re-created.";
      podEvent(deps, pod, "Normal", "SandboxChanged", message);
      await deps.runtime.stopSandbox(before.id);
      await records.lookAtAll();
    }
    const created = await hop("sandbox", { attempt }, () =>
      this.#counted("", async (lost) => {
        this.#config = await planSandbox(deps, pod, attempt + lost);
        return await createSandbox(deps, pod, this.#config);
      }),
    );
    records.putSandbox(created);
  }

  async start(container: AnyContainer): Promise<void> {
    const { deps, records, steps, waiting, signal, hop } = this.#context;
    const { name } = container;
    try {
      // The images come while the sandbox and the volumes are made.
      const fault = await this.#imageVolumes.ensure(this.#context.pod(), container, signal);
      if (fault) throw this.#waitFor(name, fault);
      const [outcome] = await Promise.all([
        hop("image", { container: name }, () => ensureImage(deps, this.#context.pod(), container, signal)),
        steps.done("sandbox"),
        steps.done("volumes"),
      ]);
      signal.throwIfAborted();
      if (!outcome.ok) throw this.#waitFor(name, outcome);
      const { sandbox } = records.state;
      const volumes = this.#context.volumes();
      if (!isUsable(this.#context.pod(), sandbox) || !volumes) return;
      await this.#startIn(sandbox, { container, image: outcome.image, volumes });
    } catch (error) {
      if (error instanceof StartFailure) waiting.set(name, { reason: error.reason, message: error.message });
      throw error;
    }
  }

  /** The status says why the container waits for an image. */
  #waitFor(name: string, { reason, message, retryAfterMs }: ImageFault): RetryLater {
    this.#context.waiting.set(name, { reason, message });
    return new RetryLater(message, imageRetryMs(reason, retryAfterMs));
  }

  async #startIn(sandbox: SandboxRecord, parts: Pick<ContainerRun, "container" | "image" | "volumes">): Promise<void> {
    const { deps, records, waiting, signal, hop } = this.#context;
    const { container } = parts;
    const { name } = container;
    const pod = this.#context.pod();
    const config = this.#config ?? (await planSandbox(deps, pod, sandbox.attempt));
    this.#config = config;
    const restartCount = this.#nextRestart(name);
    const base = { pod, sandbox, config, restartCount, targetId: this.#targetOf(container) };
    const created = await hop("create", { container: name }, () =>
      this.#counted(name, (lost) => createContainer(deps, { ...parts, ...base, attempt: restartCount + lost })),
    );
    records.put(created);
    signal.throwIfAborted();
    try {
      records.started(await hop("start", { container: name }, () => startContainer(deps, pod, created)));
    } catch (error) {
      await records.look(created.id);
      throw error;
    }
    waiting.delete(name);
    this.#discardOld(name);
    if (container.lifecycle?.postStart) await this.#runPostStart(container, created);
    const record = records.get(created.id);
    if (record?.state === "running") this.#context.started(record);
  }

  /** A container whose hook fails does not go on. */
  async #runPostStart(container: AnyContainer, created: ContainerRecord): Promise<void> {
    const { deps, records, waiting, signal } = this.#context;
    this.#context.wake();
    const target = this.#context.target(container, created.id);
    const fault = await runPostStart(deps, target, signal);
    if (fault === undefined) return;
    const graceMs = target.pod.spec.terminationGracePeriodSeconds * 1000;
    const request = { record: created, graceMs, podIp: target.podIp, message: "FailedPostStartHook" };
    await killContainer(deps, target.pod, request);
    await records.look(created.id);
    waiting.set(container.name, { reason: "PostStartHookError", message: fault });
  }

  async #counted<T>(what: string, make: (lost: number) => Promise<T>): Promise<T> {
    const lost = this.#lost.get(what) ?? 0;
    try {
      return await make(lost);
    } catch (error) {
      this.#lost.set(what, lost + 1);
      throw error;
    }
  }

  /** Counts on from the runtime's record, or from the API's if the runtime has lost it. */
  #nextRestart(name: string): number {
    const last = this.#context.records.newest(name);
    if (last) return last.restartCount + 1;
    const known = statusNamed(this.#context.pod(), name);
    return known?.containerID ? known.restartCount + 1 : 0;
  }

  #targetOf(container: AnyContainer): string | undefined {
    const target = "targetContainerName" in container ? container.targetContainerName : undefined;
    return target ? this.#context.records.newest(target)?.id : undefined;
  }

  #discardOld(name: string): void {
    const { deps, records, steps } = this.#context;
    for (const { id, logPath } of records.takeOld(name)) {
      steps.try(`discard ${id}`, async () => {
        await deps.runtime.removeContainer(id);
        deps.disclaimContainer(id);
        if (logPath !== "") await deps.host.removeLog(logPath);
      });
    }
  }
}

/** After a failure the status soon says that it waits, and for how long. */
const imageRetryMs = (reason: ImageFailure, retryAfterMs: number): number =>
  reason === "ErrImagePull" || reason === "RegistryUnavailable" ? Math.min(1000, retryAfterMs) : retryAfterMs;
