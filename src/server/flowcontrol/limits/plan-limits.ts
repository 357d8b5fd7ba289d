import { type PriorityLevelConfiguration } from "#api/flowcontrol/priority-level-configuration.ts";
import { allocateSeats } from "./allocate-seats.ts";
import { type DemandStats } from "./demand.ts";

/** How many seats a priority level may have at most and at least, apart from what the others need at the moment. */
export interface Bounds {
  readonly nominal: number;
  /** Without what it lends. */
  readonly lower: number;
  /** With what it may borrow. */
  readonly upper: number;
  /** The most that one request takes; 0: no limit of the level's own. */
  readonly maxSeats: number;
}

type Spec = PriorityLevelConfiguration["spec"];

export const isExempt = ({ type }: Spec): boolean => type === "Exempt";

const sharesOf = ({ limited, exempt }: Spec): number =>
  limited?.nominalConcurrencyShares ?? exempt?.nominalConcurrencyShares ?? 0;

/** Divides the server's seats by the shares of the levels. */
export function planBounds(seats: number, specs: ReadonlyMap<string, Spec>): Map<string, Bounds> {
  let shares = 0;
  for (const spec of specs.values()) shares += sharesOf(spec);
  return new Map([...specs].map(([name, spec]) => [name, boundsOf(spec, { seats, shares })]));
}

function boundsOf(spec: Spec, { seats, shares }: { seats: number; shares: number }): Bounds {
  const nominal = shares > 0 ? Math.ceil((seats * sharesOf(spec)) / shares) : 0;
  const percentOf = (percent: number): number => Math.round((nominal * percent) / 100);
  const lent = percentOf(spec.limited?.lendablePercent ?? spec.exempt?.lendablePercent ?? 0);
  const { borrowingLimitPercent } = spec.limited ?? {};
  const borrowed = borrowingLimitPercent === undefined ? seats : percentOf(borrowingLimitPercent);
  const handSize = spec.limited?.limitResponse.queuing?.handSize;
  const maxSeats = handSize ? Math.max(1, Math.min(Math.ceil(nominal * 0.15), Math.floor(nominal / handSize))) : 0;
  return { nominal, lower: nominal - lent, upper: nominal + borrowed, maxSeats };
}

export interface LevelDemand {
  readonly isExempt: boolean;
  readonly bounds: Bounds;
  readonly demand: DemandStats;
}

export interface CurrentLimits {
  readonly seats: ReadonlyMap<string, number>;
  /** What each level was meant to get, before its bounds. */
  readonly targets: ReadonlyMap<string, number>;
  readonly fairFraction: number;
}

/** Who lends seats to whom: undefined where the bounds contradict each other, so that all keep what they have. */
export function planLimits(levels: ReadonlyMap<string, LevelDemand>): CurrentLimits | undefined {
  const seats = new Map<string, number>();
  const limited: [name: string, level: LevelDemand, least: number][] = [];
  let total = 0;
  let taken = 0;
  for (const [name, level] of levels) {
    const { bounds, demand } = level;
    total += bounds.nominal;
    if (level.isExempt) {
      // It is never refused, so what it uses is gone for the others.
      seats.set(name, Math.max(bounds.lower, demand.highest));
      taken += seats.get(name) ?? 0;
    } else limited.push([name, level, Math.max(bounds.lower, Math.min(bounds.nominal, demand.highest))]);
  }
  const left = total - taken;
  const lowerSum = limited.reduce((sum, [, { bounds }]) => sum + bounds.lower, 0);
  const leastSum = limited.reduce((sum, [, , least]) => sum + least, 0);
  const targets = new Map(limited.map(([name, { demand }, least]) => [name, Math.max(least, demand.smoothed)]));
  if (left <= leastSum) {
    const fraction = left <= lowerSum ? 0 : (left - lowerSum) / (leastSum - lowerSum);
    for (const [name, { bounds }, least] of limited) {
      seats.set(name, atLeastOne(bounds, bounds.lower + Math.round((least - bounds.lower) * fraction)));
    }
    return { seats, targets, fairFraction: 0 };
  }
  const claims = limited.map(([name, { bounds }, least]) => ({
    target: targets.get(name) ?? least,
    least,
    most: bounds.upper,
  }));
  const allocation = allocateSeats(total, claims);
  if (!allocation) return undefined;
  for (const [index, [name, { bounds }]] of limited.entries()) {
    seats.set(name, atLeastOne(bounds, Math.round(allocation.seats[index] ?? 0)));
  }
  return { seats, targets, fairFraction: allocation.fairFraction };
}

/** Upstream also lends the last seat of a small level, whose next request then waits until the next adjustment. */
const atLeastOne = ({ nominal }: Bounds, seats: number): number => Math.max(seats, Math.min(nominal, 1));
