import type { Cpu } from "./machine-topology.ts";

export interface CpuChoice {
  /** All processors of the machine. */
  readonly all: readonly Cpu[];
  readonly free: ReadonlySet<number>;
  readonly count: number;
  /** Whether as few groups of processors with a common cache as possible are used. */
  readonly prefersCache: boolean;
}

type Part = "numa" | "socket" | "cache" | "core";

/**
 * Chooses processors that are close to each other: whole NUMA nodes and sockets first, then whole cores, then threads. Parts
 * of the machine in which little is free are filled first, so that large parts stay whole.
 */
export function takeCpus({ all, free, count, prefersCache }: CpuChoice): ReadonlySet<number> {
  if (count > free.size) {
    throw new Error(`not enough cpus available to satisfy request: requested=${count}, available=${free.size}`);
  }
  const taking = new Taking(all, free, count);
  const [outer, inner] = levelsOf(all);
  taking.wholeParts([outer]);
  taking.wholeParts([outer, inner]);
  if (prefersCache) taking.byCache(outer === "numa" ? ["numa", "cache"] : ["socket", "numa", "cache"]);
  taking.wholeParts([outer, inner, "core"]);
  taking.threads([outer, inner, "core"]);
  return taking.taken;
}

/** Of NUMA nodes and sockets, those that contain the others come first. */
function levelsOf(all: readonly Cpu[]): [outer: Part, inner: Part] {
  const count = (part: Part) => new Set(all.map((cpu) => cpu[part])).size;
  return count("socket") >= count("numa") ? ["numa", "socket"] : ["socket", "numa"];
}

class Taking {
  readonly taken = new Set<number>();
  readonly #all: readonly Cpu[];
  readonly #count: number;
  #free: readonly Cpu[];

  constructor(all: readonly Cpu[], free: ReadonlySet<number>, count: number) {
    this.#all = all;
    this.#count = count;
    this.#free = all.filter(({ id }) => free.has(id));
  }

  get #needed(): number {
    return this.#count - this.taken.size;
  }

  /** Takes parts of the machine that are free as a whole, as long as the request is not smaller than the part. */
  wholeParts(path: readonly Part[]): void {
    for (const group of groupsOf(this.#free, path)) {
      if (group.length <= this.#needed && this.#isWhole(group, path.at(-1) ?? "core")) this.#take(group);
    }
  }

  /** Takes whole caches, and what is left of the request from one cache if it has enough cores. */
  byCache(path: readonly Part[]): void {
    for (const group of groupsOf(this.#free, path)) {
      this.wholeParts(path);
      const rest = this.#needed;
      if (rest === 0) return;
      const left = group.filter(({ id }) => !this.taken.has(id));
      const threads = Math.max(1, Math.round(this.#all.length / new Set(this.#all.map(({ core }) => core)).size));
      const cores = [...new Set(left.map(({ core }) => core))].toSorted((a, b) => a - b);
      const chosen = new Set(cores.slice(0, Math.ceil(rest / threads)));
      const cpus = left.filter(({ core }) => chosen.has(core)).toSorted((a, b) => a.id - b.id);
      const fitting = rest % 2 === 1 && threads > 1 && cpus.length > rest ? cpus.slice(0, -1) : cpus;
      if (fitting.length === rest) this.#take(fitting);
    }
  }

  threads(path: readonly Part[]): void {
    const ordered = groupsOf(this.#free, path).flatMap((group) => group.toSorted((a, b) => a.id - b.id));
    this.#take(ordered.slice(0, this.#needed));
  }

  #isWhole(group: readonly Cpu[], part: Part): boolean {
    const id = group[0]?.[part];
    return group.length === this.#all.filter((cpu) => cpu[part] === id).length;
  }

  #take(cpus: readonly Cpu[]): void {
    for (const { id } of cpus) this.taken.add(id);
    this.#free = this.#free.filter(({ id }) => !this.taken.has(id));
  }
}

/** The groups at the end of the path, sorted at each level: those with the fewest processors first, then by number. */
function groupsOf(cpus: readonly Cpu[], [part, ...rest]: readonly Part[]): Cpu[][] {
  if (part === undefined) return [[...cpus]];
  const groups = [...Map.groupBy(cpus, (cpu) => cpu[part])].toSorted(
    ([idA, a], [idB, b]) => a.length - b.length || idA - idB,
  );
  return groups.flatMap(([, group]) => groupsOf(group, rest));
}
