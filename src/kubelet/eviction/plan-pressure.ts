import { isMemory, type Observation, type Observations, type Pressure, pressureOf, pressures } from "./signals.ts";
import { amountOf, type Threshold } from "./thresholds.ts";

/** What is remembered from one look at the node to the next. */
export interface PressureState {
  /** Since when a threshold has been met. */
  readonly metSinceMs: ReadonlyMap<Threshold, number>;
  /** Thresholds that called for eviction last time. They are over only when their minimum was reclaimed too. */
  readonly starved: readonly Threshold[];
  readonly seenAtMs: ReadonlyMap<Pressure, number>;
}
export const noPressureState: PressureState = { metSinceMs: new Map(), starved: [], seenAtMs: new Map() };

export interface PressureSettings {
  readonly thresholds: readonly Threshold[];
  /** A condition stays for this long after its thresholds are no longer met. */
  readonly transitionMs: number;
}

export interface PressureInput {
  readonly settings: PressureSettings;
  readonly state: PressureState;
  readonly observations: Observations;
  readonly now: number;
}

export interface PressurePlan {
  readonly state: PressureState;
  /** The conditions of the node that are true. */
  readonly conditions: readonly Pressure[];
  /** The thresholds that call for eviction, the most urgent first. */
  readonly starved: readonly Threshold[];
}

/** Decides which conditions the node has, and which resources must be freed. */
export function planPressure({ settings, state, observations, now }: PressureInput): PressurePlan {
  const { thresholds, transitionMs } = settings;
  const met = new Set([
    ...metThresholds(thresholds, observations, "threshold"),
    ...metThresholds(state.starved, observations, "minimum reclaim"),
  ]);
  const metSinceMs = new Map(Array.from(met, (one) => [one, state.metSinceMs.get(one) ?? now]));
  const seen = Array.from(met, ({ signal }) => [pressureOf(signal), now] as const);
  const seenAtMs = new Map([...state.seenAtMs, ...seen]);
  const starved = [...met].filter((one) => now - (metSinceMs.get(one) ?? now) >= one.graceMs);
  return {
    state: { metSinceMs, starved, seenAtMs },
    conditions: pressures.filter((one) => isRecent(seenAtMs.get(one), { transitionMs, now })),
    // Memory first: without it, nothing else can be done about the rest.
    starved: starved.toSorted((a, b) => Number(isMemory(b.signal)) - Number(isMemory(a.signal))),
  };
}

const isRecent = (seenMs: number | undefined, { transitionMs, now }: { transitionMs: number; now: number }): boolean =>
  seenMs !== undefined && now - seenMs < transitionMs;

/** The thresholds that are met. Those whose signal could not be measured are not. */
export function metThresholds(
  thresholds: readonly Threshold[],
  observations: Observations,
  until: "threshold" | "minimum reclaim",
): Threshold[] {
  return thresholds.filter((threshold) => {
    const observation = observations.get(threshold.signal);
    return observation !== undefined && observation.available < goalOf(threshold, observation, until);
  });
}

function goalOf(
  { value, minReclaim }: Threshold,
  observation: Observation,
  until: "threshold" | "minimum reclaim",
): number {
  const more = until === "minimum reclaim" && minReclaim ? amountOf(minReclaim, observation) : 0;
  return amountOf(value, observation) + more;
}
