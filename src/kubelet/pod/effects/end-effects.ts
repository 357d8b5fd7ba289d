import { killContainer, runPreStop } from "#kubelet/pod/containers/kill-container.ts";
import { type ContainerRecord, containerNamed } from "#kubelet/pod/plan/pod-state.ts";
import type { KillStep, StepOf } from "#kubelet/pod/plan/step.ts";
import { SparseMap } from "#lib/data/sparse-map.ts";
import { type EffectContext, targetOf } from "./effect-context.ts";
import { cleanUpPod, removePodObject } from "./remove-pod.ts";

/** The steps that stop containers and clean up after a pod. */
export class EndEffects {
  readonly #context: EffectContext;
  /** Fires when a container has ended, so that its hooks can be abandoned. */
  readonly #ends = new SparseMap<string, AbortController>();

  constructor(context: EffectContext) {
    this.#context = context;
  }

  /** Call this when a container has ended. */
  ended(id: string): void {
    this.#ends.get(id)?.abort(new Error("the container has ended"));
    this.#ends.delete(id);
  }

  /** Fires when the container has ended. */
  endOf(id: string): AbortSignal {
    const end = this.#ends.get(id) ?? new AbortController();
    this.#ends.set(id, end);
    return end.signal;
  }

  async preStop({ container: name, id, graceMs }: StepOf<"preStop">): Promise<void> {
    const { deps, facts } = this.#context;
    const container = containerNamed(this.#context.pod(), name);
    if (container) {
      await runPreStop(deps, targetOf(this.#context, container, id), { timeoutMs: graceMs, signal: this.endOf(id) });
    }
    facts.records.change(id, { preStop: "done" });
  }

  async kill({ id, container: name, graceMs, hook, message }: KillStep): Promise<void> {
    const { deps, facts } = this.#context;
    const { records } = facts;
    const record = records.get(id);
    const container = containerNamed(this.#context.pod(), name);
    if (!record || !container) return;
    records.change(id, { askedGraceMs: Math.min(graceMs, record.askedGraceMs ?? graceMs) });
    const target = targetOf(this.#context, container, id);
    await killContainer(deps, target, { graceMs, hook, message, signal: this.endOf(id) });
    await records.look(id);
  }

  async hurry({ id, graceMs }: StepOf<"hurry">): Promise<void> {
    const { deps, facts } = this.#context;
    facts.records.change(id, { askedGraceMs: graceMs });
    await deps.runtime.stopContainer(id, graceMs);
    await facts.records.look(id);
  }

  async putAway(step: StepOf<"discard" | "stopSandboxes" | "release" | "remove" | "clean">): Promise<void> {
    const { deps, facts, trace, probes, statusWritten } = this.#context;
    const pod = this.#context.pod();
    const uid = pod.metadata.uid;
    switch (step.do) {
      case "discard":
        return await this.#discard(facts.records.get(step.id));
      case "stopSandboxes":
        probes.stopAll();
        return await this.#stopSandboxes(uid);
      case "release":
        await deps.host.release(uid);
        return facts.volumesReleased();
      case "remove":
        return await removePodObject(deps, { pod, trace: trace.cause, statusWritten });
      case "clean":
        await cleanUpPod(deps, pod, facts.records.sandboxIds);
        return facts.records.forget();
    }
  }

  async #discard(record: ContainerRecord | undefined): Promise<void> {
    const { deps, facts } = this.#context;
    if (!record) return;
    await deps.runtime.removeContainer(record.id);
    facts.records.drop(record.id);
    if (record.logPath !== "") await deps.host.removeLog(record.logPath);
  }

  async #stopSandboxes(uid: string): Promise<void> {
    const { deps, facts } = this.#context;
    const { records } = facts;
    const { sandbox } = records.state;
    // Includes sandboxes whose creation was reported as failed: they may exist.
    const listed = facts.mayHaveLostSandbox ? await deps.runtime.listSandboxes() : [];
    const others = listed.filter(({ id, pod }) => pod.uid === uid && id !== sandbox?.id);
    const ids = [...(sandbox ? [sandbox.id] : []), ...others.map(({ id }) => id)];
    await Promise.all(ids.map((id) => deps.runtime.stopSandbox(id)));
    await deps.claims?.unprepare(this.#context.pod());
    if (sandbox) records.sandboxLost(sandbox.id);
    await records.lookAtAll();
    facts.sandboxesStopped();
  }
}
