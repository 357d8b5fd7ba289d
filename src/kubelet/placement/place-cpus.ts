import type { Container } from "#api/core/container/container.ts";
import type { Pod } from "#api/core/pod.ts";
import { quantityMilliValue } from "#api/meta/quantity.ts";
import type { Cpu } from "./machine-topology.ts";
import type { Hint } from "./merge-hints.ts";
import { has, masksOf, sizeOf } from "./numa-mask.ts";
import { mayBePlaced, neededAtOnce, type Placement } from "./placement.ts";
import { takeCpus } from "./take-cpus.ts";

/** How the policy `static` gives containers processors of their own. */
export interface CpuRules {
  readonly cpus: readonly Cpu[];
  /** Processors that no container has for itself. */
  readonly reserved: ReadonlySet<number>;
  /** Option `full-pcpus-only`: containers get whole cores, or are rejected. */
  readonly wholeCores: boolean;
  /** Option `strict-cpu-reservation`: other containers do not run on reserved processors either. */
  readonly isStrict: boolean;
  /** Option `prefer-align-cpus-by-uncorecache`. */
  readonly prefersCache: boolean;
}

/** How many processors a container gets for itself: its request if that is whole and the pod is Guaranteed. */
export function ownCpus(pod: Pod, { resources }: Container): number {
  if (!mayBePlaced(pod)) return 0;
  const milli = quantityMilliValue(resources.requests?.cpu ?? "0");
  return milli % 1000 === 0 ? milli / 1000 : 0;
}
export const ownCpusOfPod = (pod: Pod): number => neededAtOnce(pod, (container) => ownCpus(pod, container));

/** The processors on which all containers without their own run. */
export function sharedCpus({ cpus, reserved, isStrict }: CpuRules, placements: readonly Placement[]): number[] {
  const own = new Set(placements.flatMap((one) => one.cpus));
  return cpus.flatMap(({ id }) => (own.has(id) || (isStrict && reserved.has(id)) ? [] : [id]));
}

/** Processors that a container of the pod can get, and those of them that its init containers had. */
function freeFor({ cpus, reserved }: CpuRules, placements: readonly Placement[], podUid: string) {
  const mayReuse = (one: Placement) => one.podUid === podUid && one.isPassedOn;
  const taken = new Set(placements.filter((one) => !mayReuse(one)).flatMap((one) => one.cpus));
  const reusable = new Set(
    placements
      .filter(mayReuse)
      .flatMap((one) => one.cpus)
      .filter((id) => !taken.has(id)),
  );
  const free = new Set(cpus.flatMap(({ id }) => (taken.has(id) || reserved.has(id) ? [] : [id])));
  return { free, reusable };
}

/** The sets of NUMA nodes that have enough free processors. */
export function cpuHints(rules: CpuRules, placements: readonly Placement[], podUid: string, count: number): Hint[] {
  const { free, reusable } = freeFor(rules, placements, podUid);
  const { cpus } = rules;
  const masks = masksOf([...new Set(cpus.map(({ numa }) => numa))]);
  const inMask = (mask: number, isCounted: (id: number) => boolean = () => true): number =>
    cpus.filter(({ id, numa }) => has(mask, numa) && isCounted(id)).length;
  const least = Math.min(...masks.filter((mask) => inMask(mask) >= count).map(sizeOf), masks.length);
  const coversReusable = (mask: number): boolean => cpus.every(({ id, numa }) => !reusable.has(id) || has(mask, numa));
  const fitting = masks.filter((mask) => coversReusable(mask) && inMask(mask, (id) => free.has(id)) >= count);
  return fitting.map((mask) => ({ mask, isPreferred: sizeOf(mask) === least }));
}

export interface CpuRequest {
  readonly podUid: string;
  readonly count: number;
  /** The NUMA nodes that are best; undefined if none is better than others. */
  readonly mask: number | undefined;
}

/** The processors of a container, as many as possible from the given nodes. Throws if there are too few. */
export function placeCpus(rules: CpuRules, placements: readonly Placement[], request: CpuRequest): number[] {
  const { podUid, count, mask } = request;
  const { free } = freeFor(rules, placements, podUid);
  const { cpus: all, prefersCache } = rules;
  const aligned = new Set(
    all.flatMap(({ id, numa }) => (mask !== undefined && has(mask, numa) && free.has(id) ? [id] : [])),
  );
  const near = takeCpus({ all, free: aligned, count: Math.min(count, aligned.size), prefersCache });
  const rest = { all, free: free.difference(near), count: count - near.size, prefersCache };
  return [...near, ...takeCpus(rest)].toSorted((a, b) => a - b);
}

/** Why a pod cannot run, for its status. */
export interface Refusal {
  readonly reason: string;
  readonly message: string;
}

/** With `full-pcpus-only`, a request must be a number of whole cores, and these must be free. */
export function coreRejection(rules: CpuRules, placements: readonly Placement[], count: number): Refusal | undefined {
  const { cpus, reserved, wholeCores } = rules;
  if (!wholeCores || count === 0) return undefined;
  const perCore = Math.max(1, Math.floor(cpus.length / new Set(cpus.map(({ core }) => core)).size));
  const reason = "SMTAlignmentError";
  if (count % perCore !== 0) {
    return { reason, message: `SMT Alignment Error: requested ${count} cpus not multiple cpus per core = ${perCore}` };
  }
  const reservedCores = new Set(cpus.flatMap(({ id, core }) => (reserved.has(id) ? [core] : [])));
  const own = new Set(placements.flatMap((one) => one.cpus));
  const available = cpus.filter(({ id, core }) => !own.has(id) && !reservedCores.has(core)).length;
  if (count <= available) return undefined;
  const numbers = `available physical CPUs = ${available}, requested CPUs = ${count}, CPUs per core = ${perCore}`;
  return { reason, message: `SMT Alignment Error: not enough free physical CPUs: ${numbers}` };
}
