import {
  cpuMetric,
  HorizontalPodAutoscaler,
  type HorizontalPodAutoscalerStatus,
} from "#api/autoscaling/horizontal-pod-autoscaler.ts";
import { type MetricStatus } from "#api/autoscaling/metrics.ts";
import { Pod } from "#api/core/pod.ts";
import { type Resource } from "#api/resource.ts";
import { timestamp } from "#lib/async/clock.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { type Again, againAfter, type Reconciler, type ReconcilerDeps } from "#runtime/reconciler.ts";
import { writeStatusIfChanged } from "../shared/write-status.ts";
import { AutoscaledPods, type SelectedPods } from "./autoscaled-pods.ts";
import { type Combined, combineProposals, failureOf, type MetricOutcome } from "./combine-proposals.ts";
import { decideFirst, decideSize, type NewCondition, withNewCondition } from "./decide-size.ts";
import { nextSyncMs } from "./next-sync.ts";
import { proposeForMetric } from "./propose-metric.ts";
import { readMetric } from "./read-metric.ts";
import { readTarget, type ScaleTarget, writeReplicas } from "./scale-target.ts";
import { firstHistory, type ScalingHistory, withChange, withRecommendation } from "./scaling-history.ts";

/** Sets the number of replicas of scalable objects by metrics. */
export const autoscalerController =
  (kinds: () => readonly Resource[]) =>
  (deps: ReconcilerDeps): Reconciler<HorizontalPodAutoscaler> => {
    const memories = new Map<string, Memory>();
    const autoscaledPods = new AutoscaledPods(deps.informers.of(Pod));
    return {
      name: "horizontal-pod-autoscaler",
      reconciles: HorizontalPodAutoscaler,

      async reconcile(autoscaler, signal): Promise<Again | undefined> {
        const { namespace, name, uid } = autoscaler.metadata;
        const key = `${namespace}/${name}`;
        const nowMs = deps.clock.now();
        const known = memories.get(key);
        const memory = known?.uid === uid ? known : { uid, dueMs: Number.NEGATIVE_INFINITY, history: undefined };
        if (memory.dueMs > nowMs) return againAfter(memory.dueMs - nowMs);
        memory.dueMs = nextSyncMs(nowMs);
        memories.set(key, memory);
        try {
          await new Run({ ...deps, kinds, autoscaledPods }, { autoscaler, memory, nowMs }, signal).run();
        } catch (error) {
          if (signal.aborted) throw error;
          deps.log.info("an autoscaler could not do its work", { autoscaler: key, error: messageOf(error) });
        }
        const endMs = deps.clock.now();
        if (memory.dueMs <= endMs) memory.dueMs = nextSyncMs(endMs);
        return againAfter(memory.dueMs - endMs);
      },

      async gone({ namespace, name }) {
        memories.delete(`${namespace}/${name}`);
        autoscaledPods.forget({ namespace, name });
      },
    };
  };

/** What is known about an autoscaler between its runs. */
interface Memory {
  readonly uid: string;
  /** When it acts again. */
  dueMs: number;
  history: ScalingHistory | undefined;
}

interface RunDeps extends ReconcilerDeps {
  readonly autoscaledPods: AutoscaledPods;
  kinds(): readonly Resource[];
}
interface Subject {
  readonly autoscaler: HorizontalPodAutoscaler;
  readonly memory: Memory;
  readonly nowMs: number;
}

/** One run of one autoscaler. Its status is written once, at the end. */
class Run {
  readonly #deps: RunDeps;
  readonly #subject: Subject;
  readonly #signal: AbortSignal;
  #status: HorizontalPodAutoscalerStatus;

  constructor(deps: RunDeps, subject: Subject, signal: AbortSignal) {
    this.#deps = deps;
    this.#subject = subject;
    this.#signal = signal;
    this.#status = subject.autoscaler.status;
  }

  async run(): Promise<void> {
    const { autoscaler, memory, nowMs } = this.#subject;
    const target = await this.#readTarget();
    if (!target) return await this.#writeStatus();
    const able = "the HPA controller was able to get the target's current scale";
    this.#set({ type: "AbleToScale", status: "True", reason: "SucceededGetScale", message: able });
    const current = target.scale.spec.replicas ?? 0;
    memory.history ??= firstHistory(current, nowMs);
    const first = decideFirst(autoscaler, current);
    if (first.type === "disabled") {
      const message = "scaling is disabled since the replica count of the target is zero";
      this.#set({ type: "ScalingActive", status: "False", reason: "ScalingDisabled", message });
      this.#report(current, current, undefined);
    } else if (first.type === "set") await this.#rescale(target, first);
    else await this.#measure(target, memory.history);
    await this.#writeStatus();
  }

  async #readTarget(): Promise<ScaleTarget | undefined> {
    const { autoscaler } = this.#subject;
    try {
      return await readTarget(this.#deps, autoscaler, this.#signal);
    } catch (error) {
      if (this.#signal.aborted) throw error;
      const text = messageOf(error);
      this.#warn("FailedGetScale", text);
      const message = `the HPA controller was unable to get the target's current scale: ${text}`;
      this.#set({ type: "AbleToScale", status: "False", reason: "FailedGetScale", message });
      return undefined;
    }
  }

  async #measure(target: ScaleTarget, history: ScalingHistory): Promise<void> {
    const { autoscaler, memory, nowMs } = this.#subject;
    const current = target.scale.spec.replicas ?? 0;
    const combined = await this.#readMetrics(target);
    if (combined) this.#set({ type: "ScalingActive", ...combined.active });
    if (combined?.replicas === undefined) {
      this.#report(current, this.#status.desiredReplicas, combined?.statuses);
      if (combined?.error) this.#warn("FailedComputeMetricsReplicas", combined.error);
      return;
    }
    const { replicas } = combined;
    const decision = decideSize(autoscaler, { current, combined: { ...combined, replicas }, history, nowMs });
    memory.history = withRecommendation(history, Math.max(replicas, 0), nowMs);
    for (const condition of decision.conditions) this.#set(condition);
    if (decision.replicas === current) this.#report(current, current, combined.statuses);
    else await this.#rescale(target, { ...decision, statuses: combined.statuses });
  }

  /** Undefined if the target has no pods of its own; the conditions say why. */
  async #readMetrics({ scale }: ScaleTarget): Promise<Combined | undefined> {
    const { autoscaler } = this.#subject;
    const selected = await this.#deps.autoscaledPods.select(autoscaler.metadata, scale.status.selector ?? "");
    if ("fault" in selected) {
      const { reason, event, message, text } = selected.fault;
      this.#warn(event, text);
      this.#set({ type: "ScalingActive", status: "False", reason, message });
      this.#warn("FailedComputeMetricsReplicas", text);
      return undefined;
    }
    const { metrics = [] } = autoscaler.spec;
    const specs = metrics.length > 0 ? metrics : [cpuMetric()];
    const outcomes: MetricOutcome[] = [];
    for (const spec of specs) outcomes.push(await this.#readOne(spec, selected, scale));
    return combineProposals(outcomes, scale.spec.replicas ?? 0);
  }

  async #readOne(
    spec: Parameters<typeof failureOf>[0],
    { selector, pods }: SelectedPods,
    scale: ScaleTarget["scale"],
  ): Promise<MetricOutcome> {
    const { autoscaler, nowMs } = this.#subject;
    const { namespace } = autoscaler.metadata;
    const sizes = { specReplicas: scale.spec.replicas ?? 0, statusReplicas: scale.status.replicas };
    try {
      const reading = await readMetric(this.#deps, { spec, selected: { namespace, selector } }, this.#signal);
      return { proposal: proposeForMetric(spec, reading, { autoscaler, pods, nowMs, ...sizes }) };
    } catch (error) {
      if (this.#signal.aborted) throw error;
      const failure = failureOf(spec, messageOf(error));
      this.#warn(failure.reason, failure.message);
      return { failure };
    }
  }

  async #rescale(
    target: ScaleTarget,
    { replicas, reason, statuses }: { replicas: number; reason: string; statuses?: MetricStatus[] },
  ): Promise<void> {
    const { autoscaler, memory, nowMs } = this.#subject;
    const current = target.scale.spec.replicas ?? 0;
    try {
      await writeReplicas(this.#deps, { ...target, replicas }, this.#signal);
    } catch (error) {
      if (this.#signal.aborted) throw error;
      const text = messageOf(error);
      this.#warn("FailedRescale", `New size: ${replicas}; reason: ${reason}; error: ${text}`);
      const message = `the HPA controller was unable to update the target scale: ${text}`;
      this.#set({ type: "AbleToScale", status: "False", reason: "FailedUpdateScale", message });
      return this.#report(current, this.#status.desiredReplicas, statuses);
    }
    const message = `the HPA controller was able to update the target scale to ${replicas}`;
    this.#set({ type: "AbleToScale", status: "True", reason: "SucceededRescale", message });
    const text = `New size: ${replicas}; reason: ${reason}`;
    this.#deps.events.event(autoscaler, "Normal", "SuccessfulRescale", text);
    if (autoscaler.spec.behavior && memory.history) {
      memory.history = withChange(memory.history, { from: current, to: replicas }, nowMs);
    }
    this.#report(current, replicas, statuses);
    this.#status = { ...this.#status, lastScaleTime: timestamp(nowMs) };
  }

  #set(condition: NewCondition): void {
    const conditions = withNewCondition(this.#status.conditions, condition, this.#subject.nowMs);
    this.#status = { ...this.#status, conditions };
  }

  #report(currentReplicas: number, desiredReplicas: number, currentMetrics: MetricStatus[] | undefined): void {
    const { conditions, lastScaleTime } = this.#status;
    this.#status = {
      ...(lastScaleTime ? { lastScaleTime } : {}),
      currentReplicas,
      desiredReplicas,
      ...(currentMetrics ? { currentMetrics } : {}),
      ...(conditions ? { conditions } : {}),
    };
  }

  #warn(reason: string, message: string): void {
    this.#deps.events.event(this.#subject.autoscaler, "Warning", reason, message);
  }

  async #writeStatus(): Promise<void> {
    const { autoscaler: object } = this.#subject;
    const write = { resource: HorizontalPodAutoscaler, object, status: this.#status };
    try {
      await writeStatusIfChanged(this.#deps, write, this.#signal);
    } catch (error) {
      if (!this.#signal.aborted) this.#warn("FailedUpdateStatus", messageOf(error));
      throw error;
    }
  }
}
