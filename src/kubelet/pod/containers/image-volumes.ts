import type { AnyContainer } from "#api/core/pod/pod-containers.ts";
import type { Pod } from "#api/core/pod.ts";
import type { Volume } from "#api/core/volume/volume.ts";
import type { ImageOutcome } from "#kubelet/images/puller.ts";
import { SparseMap } from "#lib/data/sparse-map.ts";
import { messageOf } from "#lib/text/message-of.ts";
import { containerEvent, type PodDeps, podEvent } from "../pod-deps.ts";
import { StartFailure } from "./create-container.ts";
import { type ImageFault, obtainImage } from "./obtain-image.ts";

/** The image volumes of one pod. Each is pulled and mounted when a container that mounts it starts. */
export class ImageVolumes {
  readonly #deps: PodDeps;
  /** Containers that start concurrently share the work. */
  readonly #underWay = new SparseMap<string, Promise<ImageOutcome>>();

  constructor(deps: PodDeps) {
    this.#deps = deps;
  }

  /** Mounts the image volumes of a container. Returns what keeps the container from starting, if anything does. */
  async ensure(pod: Pod, container: AnyContainer, signal: AbortSignal): Promise<ImageFault | undefined> {
    const wanted = volumesOf(pod, container);
    if (wanted.length === 0) return undefined;
    const recordEvent = (message: string) =>
      containerEvent(this.#deps, pod, container.name, { type: "Warning", reason: "Failed", message });
    try {
      const outcomes = await Promise.all(wanted.map((volume) => this.#ensureOnce(pod, volume, signal)));
      const faults = outcomes.filter((outcome) => !outcome.ok);
      for (const { reason } of faults) recordEvent(`Error: ${reason}`);
      return faults.at(-1);
    } catch (error) {
      signal.throwIfAborted();
      recordEvent(`Error: ${messageOf(error)}`);
      throw new StartFailure("CreateContainerError", error);
    }
  }

  #ensureOnce(pod: Pod, volume: Volume, signal: AbortSignal): Promise<ImageOutcome> {
    const running = this.#underWay.get(volume.name);
    if (running) return running;
    const work = this.#ensure(pod, volume, signal).finally(() => this.#underWay.delete(volume.name));
    this.#underWay.set(volume.name, work);
    return work;
  }

  async #ensure(pod: Pod, { name, image }: Volume, signal: AbortSignal): Promise<ImageOutcome> {
    const wanted = {
      image: image?.reference ?? "",
      policy: image?.pullPolicy ?? "IfNotPresent",
      recordEvent: (type: "Normal" | "Warning", reason: string, message: string) =>
        podEvent(this.#deps, pod, type, reason, message),
    };
    const outcome = await obtainImage(this.#deps, pod, wanted, signal);
    if (outcome.ok) await this.#deps.host.mountImage(pod, name, outcome.image);
    return outcome;
  }
}

function volumesOf({ spec }: Pod, { volumeMounts = [] }: AnyContainer): Volume[] {
  const images = (spec.volumes ?? []).filter(({ image }) => image);
  return images.filter(({ name }) => volumeMounts.some((mount) => mount.name === name));
}
