import { statfs } from "node:fs/promises";
import type { Pod } from "#api/core/pod.ts";
import type { ContainerRuntime } from "#kubelet/runtime/runtime.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type Log } from "#lib/process/log.ts";
import { ImageGc, type ImageGcPolicy } from "./image-gc.ts";
import { pauseImageName } from "./import.ts";

/** The image of the examples: Debian's busybox, packed by Orlop. */
export const busyboxImageName = "orlop.dev/busybox:1";

export interface ImageUse {
  readonly dataDir: string;
  readonly clock: Clock;
  readonly runtime: ContainerRuntime;
  readonly policy: ImageGcPolicy;
  pods(): readonly Pod[];
}

/** Knows which images of this node are used. */
export function createImageGc({ runtime, dataDir, clock, policy, pods }: ImageUse): ImageGc {
  const disk = async () => {
    const { blocks, bavail, bsize } = await statfs(dataDir);
    return { capacityBytes: blocks * bsize, availableBytes: bavail * bsize };
  };
  const volumeImages = () =>
    pods().flatMap(({ spec }) => (spec.volumes ?? []).flatMap(({ image }) => image?.reference ?? []));
  const keep = () => [pauseImageName, busyboxImageName, ...volumeImages()];
  return new ImageGc({ runtime, clock, policy, keep, disk });
}

const imageGcMs = 5 * 60_000;

/** Removes unused images when the disk fills up. */
export async function collectImages(
  images: ImageGc,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    await clock.sleep(imageGcMs, signal);
    const { remove, failures } = await images.collect(signal);
    if (remove.length > 0) log.info("images removed", { images: remove.length - failures.length });
  }
}
