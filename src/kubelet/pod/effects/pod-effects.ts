import type { AnyContainer } from "#api/core/pod/pod-containers.ts";
import { createContainer, StartFailure, startContainer } from "#kubelet/pod/containers/create-container.ts";
import { runPostStart } from "#kubelet/pod/containers/lifecycle-hooks.ts";
import { ensureImage, imageRetryMs } from "#kubelet/pod/containers/obtain-image.ts";
import { containerNamed } from "#kubelet/pod/plan/pod-state.ts";
import type { Step, StepOf } from "#kubelet/pod/plan/step.ts";
import { RetryLater } from "#kubelet/pod/plan/steps.ts";
import { podEvent } from "../pod-deps.ts";
import { createSandbox, prepareClaims, prepareSandbox } from "./create-sandbox.ts";
import { type EffectContext, targetOf } from "./effect-context.ts";
import { EndEffects } from "./end-effects.ts";
import { resizePod } from "./resize-pod.ts";
import { VolumeEffects } from "./volume-effects.ts";

/** Carries out the steps of one pod, and records the results in its facts. */
export class PodEffects {
  readonly #context: EffectContext;
  readonly #volumes: VolumeEffects;
  readonly #ends: EndEffects;

  constructor(context: EffectContext) {
    this.#context = context;
    this.#volumes = new VolumeEffects(context);
    this.#ends = new EndEffects(context);
  }

  /** Call this when a container has ended. */
  ended(id: string): void {
    this.#ends.ended(id);
  }

  async run(step: Step): Promise<void> {
    switch (step.do) {
      case "look":
        return await this.#look(step.id);
      case "volumes":
        return await this.#volumes.mount();
      case "refresh":
        return await this.#volumes.refresh();
      case "sandbox":
        return await this.#createSandbox(step.attempt);
      case "image":
        return await this.#obtainImage(step.container);
      case "create":
        return await this.#create(step.container);
      case "start":
        return await this.#start(step);
      case "postStart":
        return await this.#runPostStart(step);
      case "resize":
        return await this.#resize(step);
      case "preStop":
        return await this.#ends.preStop(step);
      case "kill":
        return await this.#ends.kill(step);
      case "hurry":
        return await this.#ends.hurry(step);
      default:
        return await this.#ends.putAway(step);
    }
  }

  async #look(id: string): Promise<void> {
    const { toLookAt, records } = this.#context.facts;
    toLookAt.delete(id);
    try {
      await records.look(id);
    } catch (error) {
      toLookAt.add(id);
      throw error;
    }
  }

  async #createSandbox(attempt: number): Promise<void> {
    const { deps, facts, trace } = this.#context;
    const { records } = facts;
    const pod = this.#context.pod();
    const before = records.state.sandbox;
    if (before) {
      const message = "Pod sandbox changed, it will be killed and re-created.";
      podEvent(deps, pod, "Normal", "SandboxChanged", message);
      await deps.runtime.stopSandbox(before.id);
      await records.lookAtAll();
    }
    await prepareClaims(deps, pod);
    const create = () =>
      facts.numbered("sandbox", async (failures) => {
        const config = await prepareSandbox(deps, pod, attempt + failures);
        facts.useSandboxConfig(config);
        return await createSandbox(deps, pod, config);
      });
    records.putSandbox(await trace.hop(pod, { step: "sandbox", attempt }, create));
  }

  async #obtainImage(name: string): Promise<void> {
    const { deps, facts, trace, imageVolumes, starting } = this.#context;
    const pod = this.#context.pod();
    const container = containerNamed(pod, name);
    if (!container) return;
    await this.#explaining(name, async () => {
      const fault = await imageVolumes.ensure(pod, container, starting);
      const ensure = () => ensureImage(deps, pod, container, starting);
      const outcome = fault ?? (await trace.hop(pod, { step: "image", container: name }, ensure));
      starting.throwIfAborted();
      if (outcome.ok) facts.images.set(name, outcome.image);
      else {
        facts.waiting.set(name, { reason: outcome.reason, message: outcome.message });
        throw new RetryLater(outcome.message, imageRetryMs(outcome));
      }
    });
  }

  async #create(name: string): Promise<void> {
    const { deps, facts, trace } = this.#context;
    const { records, mounted: volumes } = facts;
    const pod = this.#context.pod();
    const container = containerNamed(pod, name);
    const image = facts.images.get(name);
    const { sandbox } = records.state;
    if (!container || !image || !sandbox || !volumes) return;
    // Each new container checks its image again: it may have been removed, or the policy may be Always.
    facts.images.delete(name);
    const last = records.newest(name);
    if (last?.state === "exited" && last.sandboxId === sandbox.id) facts.restarts.begin(name, last, deps.clock.now());
    const restartCount = facts.nextRestartCount(pod, name);
    const targetId = this.#targetOf(container);
    const create = () =>
      facts.numbered(`container ${name}`, async (failures) => {
        const config = facts.sandboxConfig ?? (await prepareSandbox(deps, pod, sandbox.attempt));
        facts.useSandboxConfig(config);
        const attempt = restartCount + failures;
        return await createContainer(deps, {
          pod,
          container,
          image,
          volumes,
          sandbox,
          config,
          restartCount,
          targetId,
          attempt,
        });
      });
    const created = await this.#explaining(name, () =>
      trace.hop(pod, { step: "create", container: name }, () => create()),
    );
    records.put({ ...created, ...(container.lifecycle?.postStart ? { postStart: "open" } : {}) });
  }

  /** If the work fails, the container's status says why. */
  async #explaining<T>(name: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof StartFailure) {
        this.#context.facts.waiting.set(name, { reason: error.reason, message: error.message });
      }
      throw error;
    }
  }

  #targetOf(container: AnyContainer): string | undefined {
    const target = "targetContainerName" in container ? container.targetContainerName : undefined;
    return target ? this.#context.facts.records.newest(target)?.id : undefined;
  }

  async #start({ container: name, id }: StepOf<"start">): Promise<void> {
    const { deps, facts, trace } = this.#context;
    const { records, waiting } = facts;
    const pod = this.#context.pod();
    const record = records.get(id);
    if (record?.state !== "created") return;
    const start = () => startContainer(deps, pod, record);
    try {
      await this.#explaining(name, () => trace.hop(pod, { step: "start", container: name }, start));
      records.started(id, deps.clock.now());
    } catch (error) {
      await records.lookAfterStart(id);
      if (records.get(id)?.state !== "running") throw error;
    }
    waiting.delete(name);
    if (record.postStart === undefined) this.#hasStarted(id);
  }

  #hasStarted(id: string): void {
    const { facts, trace, probes } = this.#context;
    const record = facts.records.get(id);
    const container = record && containerNamed(this.#context.pod(), record.name);
    if (record?.state !== "running" || !container) return;
    trace.containerStarted();
    probes.start({ id, container, startedAt: record.startedAt });
  }

  /** A container whose hook fails is killed. */
  async #runPostStart({ container: name, id }: StepOf<"postStart">): Promise<void> {
    const { deps, facts, starting } = this.#context;
    const container = containerNamed(this.#context.pod(), name);
    if (!container) return;
    const signal = AbortSignal.any([starting, this.#ends.endOf(id)]);
    const fault = await runPostStart(deps, targetOf(this.#context, container, id), signal);
    facts.records.change(id, { postStart: fault === undefined ? "done" : "failed" });
    if (fault === undefined) this.#hasStarted(id);
    else facts.waiting.set(name, { reason: "PostStartHookError", message: fault });
  }

  async #resize({ resizes }: StepOf<"resize">): Promise<void> {
    const { deps, facts, allocation } = this.#context;
    await resizePod(deps, this.#context.pod(), { resizes, records: facts.records, allocation });
  }
}
