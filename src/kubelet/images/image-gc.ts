import type { ContainerRuntime, Image } from "#kubelet/runtime/runtime.ts";
import type { Clock } from "#lib/async/clock.ts";

export interface ImageGcPolicy {
  /** Images are removed when more than this percentage of the disk is used, until it is below `lowPercent`. */
  readonly highPercent: number;
  readonly lowPercent: number;
  /** An image is not removed for this long after it was first seen. */
  readonly minAgeMs: number;
  /** An image that was unused for this long is removed even if the disk has space; 0 for never. */
  readonly maxAgeMs: number;
}
export const defaultImageGcPolicy: ImageGcPolicy = {
  highPercent: 85,
  lowPercent: 80,
  minAgeMs: 120_000,
  maxAgeMs: 0,
};
export interface DiskSpace {
  readonly capacityBytes: number;
  readonly availableBytes: number;
}
export interface ImageRecord {
  readonly image: Image;
  readonly firstSeen: number;
  /** 0 if we have not seen it used. */
  readonly lastUsed: number;
  readonly isUsed: boolean;
}
export interface ImageGcPlan {
  /** Image ids in the order of removal. */
  readonly remove: readonly string[];
  /** How many bytes should be freed, and how many the removed images hold. */
  readonly wantedBytes: number;
  readonly foundBytes: number;
}

/** Decides which images to remove: unused ones, least recently used first, as many as needed or all. */
export function planImageGc(
  records: readonly ImageRecord[],
  { policy, disk, now, all = false }: { policy: ImageGcPolicy; disk: DiskSpace; now: number; all?: boolean },
): ImageGcPlan {
  const candidates = records
    .filter(({ image, isUsed, firstSeen }) => !isUsed && !image.pinned && now - firstSeen >= policy.minAgeMs)
    .toSorted((a, b) => a.lastUsed - b.lastUsed || a.firstSeen - b.firstSeen);
  const isOld = ({ lastUsed, firstSeen }: ImageRecord) =>
    policy.maxAgeMs > 0 && now - Math.max(lastUsed, firstSeen) > policy.maxAgeMs;
  const wantedBytes = all ? Number.POSITIVE_INFINITY : excessBytes(policy, disk);
  const remove: string[] = [];
  let foundBytes = 0;
  for (const record of candidates) {
    if (foundBytes >= wantedBytes && !isOld(record)) continue;
    remove.push(record.image.id);
    foundBytes += record.image.sizeBytes;
  }
  return { remove, wantedBytes, foundBytes };
}

function excessBytes({ highPercent, lowPercent }: ImageGcPolicy, { capacityBytes, availableBytes }: DiskSpace): number {
  if (capacityBytes <= 0) return 0;
  const used = capacityBytes - availableBytes;
  if ((used * 100) / capacityBytes < highPercent) return 0;
  return Math.max(0, Math.ceil(used - (capacityBytes * lowPercent) / 100));
}

export interface ImageGcDeps {
  readonly runtime: ContainerRuntime;
  readonly clock: Clock;
  readonly policy: ImageGcPolicy;
  /** Names of images that always stay, such as the sandbox image and those of image volumes. */
  keep(): readonly string[];
  disk(): Promise<DiskSpace>;
}

/** Remembers when images were seen and used, and removes those that the plan selects. */
export class ImageGc {
  readonly #deps: ImageGcDeps;
  readonly #seen = new Map<string, { firstSeen: number; lastUsed: number }>();

  constructor(deps: ImageGcDeps) {
    this.#deps = deps;
  }

  /** Resolves with what was done. An image that cannot be removed is tried again next time. */
  async collect(
    signal?: AbortSignal,
    { all = false } = {},
  ): Promise<ImageGcPlan & { readonly failures: readonly Error[] }> {
    const { runtime, clock, policy, disk } = this.#deps;
    const records = await this.#look(signal);
    const plan = planImageGc(records, { policy, disk: await disk(), now: clock.now(), all });
    const failures: Error[] = [];
    for (const id of plan.remove) {
      try {
        await runtime.removeImage(id, signal);
        this.#seen.delete(id);
      } catch (error) {
        signal?.throwIfAborted();
        failures.push(new Error(`image ${id} was not removed`, { cause: error }));
      }
    }
    return { ...plan, failures };
  }

  async #look(signal: AbortSignal | undefined): Promise<ImageRecord[]> {
    const { runtime, clock, keep } = this.#deps;
    const [images, containers, kept] = await Promise.all([
      runtime.listImages(signal),
      runtime.listContainers(signal),
      Promise.all(keep().map((name) => runtime.imageStatus(name, signal))),
    ]);
    const used = new Set(containers.flatMap(({ image, imageRef }) => [image, imageRef]));
    const now = clock.now();
    const there = new Set(images.map(({ id }) => id));
    for (const id of this.#seen.keys()) if (!there.has(id)) this.#seen.delete(id);
    return images.map((image) => {
      const names = [image.id, ...image.tags, ...image.digests];
      const isUsed = names.some((name) => used.has(name));
      const before = this.#seen.get(image.id) ?? { firstSeen: now, lastUsed: 0 };
      const record = { ...before, lastUsed: isUsed ? now : before.lastUsed };
      this.#seen.set(image.id, record);
      return { image, ...record, isUsed: isUsed || kept.some((one) => one?.id === image.id) };
    });
  }
}
