import type { Pod } from "#api/core/pod.ts";
import { VolumeError } from "#kubelet/volumes/volumes.ts";
import { podEvent } from "../pod-deps.ts";
import type { EffectContext } from "./effect-context.ts";

/** How often to check whether drivers have to do something for their volumes. */
const checkMs = 60_000;

/** The steps for the volumes of one pod. */
export class VolumeEffects {
  readonly #context: EffectContext;

  constructor(context: EffectContext) {
    this.#context = context;
  }

  async mount(): Promise<void> {
    const { deps, trace, facts } = this.#context;
    const pod = this.#context.pod();
    const isEmpty = (pod.spec.volumes ?? []).length === 0;
    const mount = () => deps.host.mountVolumes(pod, deps.sourcesFor(pod.metadata.uid));
    const at = isEmpty
      ? new Map()
      : await this.#reportingFailedMounts(() => trace.hop(pod, { step: "volumes" }, mount));
    facts.volumesMounted(at, at.size > 0 ? this.#nextRefresh(pod) : undefined);
  }

  async refresh(): Promise<void> {
    const { deps, facts } = this.#context;
    const pod = this.#context.pod();
    facts.refreshBegins();
    try {
      await this.#reportingFailedMounts(() => deps.host.refreshVolumes(pod, deps.sourcesFor(pod.metadata.uid)));
      facts.refreshed(this.#nextRefresh(pod));
    } catch (error) {
      facts.volumesOutdated();
      throw error;
    }
  }

  #nextRefresh({ spec }: Pod): number | undefined {
    const mayChange = (spec.volumes ?? []).some(
      ({ csi, persistentVolumeClaim, ephemeral }) => csi || persistentVolumeClaim || ephemeral,
    );
    return mayChange ? this.#context.deps.clock.now() + checkMs : undefined;
  }

  async #reportingFailedMounts<T>(work: () => Promise<T>): Promise<T> {
    const { deps } = this.#context;
    try {
      return await work();
    } catch (error) {
      if (error instanceof VolumeError) podEvent(deps, this.#context.pod(), "Warning", "FailedMount", error.message);
      throw error;
    }
  }
}
