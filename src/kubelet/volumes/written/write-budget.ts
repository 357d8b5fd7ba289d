import { SparseMap } from "#lib/data/sparse-map.ts";

/** Bounds what the kubelet itself writes for one pod, in memory and on disk. */
export interface WriteBudgets {
  readonly memory: WriteBudget;
  readonly disk: WriteBudget;
}

/**
 * Counts what the volumes of one pod hold. A pod may name the same object in thousands of places, so it counts while
 * content is gathered, and stops at the first byte over the limit.
 */
export class WriteBudget {
  readonly #maxBytes: number;
  readonly #where: string;
  readonly #byVolume = new SparseMap<string, number>();
  #total = 0;

  constructor(maxBytes: number, where: "memory" | "disk") {
    this.#maxBytes = maxBytes;
    this.#where = where;
  }

  /** Restarts the count of a volume; its earlier content no longer counts. */
  count(volume: string): WriteMeter {
    this.#add(volume, -(this.#byVolume.get(volume) ?? 0));
    return (bytes) => {
      this.#add(volume, Math.max(1, Math.ceil(bytes / pageBytes)) * pageBytes + fileBytes);
      if (this.#total > this.#maxBytes) {
        const limit = `${Math.floor(this.#maxBytes / 1024)}Ki`;
        throw new Error(`the pod's config maps, secrets and projected files on ${this.#where} exceed ${limit}`);
      }
    };
  }

  #add(volume: string, bytes: number): void {
    this.#byVolume.set(volume, (this.#byVolume.get(volume) ?? 0) + bytes);
    this.#total += bytes;
  }
}

/** Adds the size of one more file before it is decoded; throws if it is too much. */
export type WriteMeter = (bytes: number) => void;

/** A file takes at least a page, plus its inode and name. */
const pageBytes = 4096;
const fileBytes = 1024;

const mebibyte = 1 << 20;
const maxDiskBytes = 64 * mebibyte;
const memoryBytes = { least: 2 * mebibyte, most: 16 * mebibyte };

/** On a full node, all pods together use at most a quarter of the memory for secrets and tokens. */
export function writeBudgets(node: { readonly memoryBytes: number; readonly pods: number }): WriteBudgets {
  const share = node.memoryBytes / 4 / Math.max(1, node.pods);
  const most = Math.min(memoryBytes.most, Math.max(memoryBytes.least, share));
  return { memory: new WriteBudget(most, "memory"), disk: new WriteBudget(maxDiskBytes, "disk") };
}
