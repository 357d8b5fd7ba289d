import type { ApiObject } from "#api/resource.ts";
import { type Random, seededRandom } from "#lib/data/random.ts";
import type { Stage } from "./stage.ts";

/** The stage that an object takes next, and when. */
export interface Choice {
  readonly stage: Stage;
  readonly dueMs: number;
}

export interface ChoiceDeps {
  readonly nowMs: number;
  readonly random: Random;
}

/** Chooses among the stages that are for the object, by their weights. */
export function chooseStage(
  stages: readonly Stage[],
  object: ApiObject,
  { nowMs, random }: ChoiceDeps,
): Choice | undefined {
  const stage = pick(possibleStages(stages, object), random);
  return stage && { stage, dueMs: nowMs + Math.max(0, delayOf(stage, object, { nowMs, random })) };
}

interface Weighed {
  readonly stage: Stage;
  readonly weight: number;
}

/**
 * The stages that may be taken: those with a weight above zero, or all if there is none. A stage whose weight the object does
 * not say is left out while others have one.
 */
export function possibleStages(stages: readonly Stage[], object: ApiObject): readonly Weighed[] {
  const matching = stages.filter((stage) => stage.isFor(object));
  if (matching.length <= 1) return matching.map((stage) => ({ stage, weight: 1 }));
  const weighed = matching.map((stage) => ({ stage, weight: stage.weightOf(object) }));
  const known = weighed.filter((one): one is Weighed => one.weight !== undefined && one.weight >= 0);
  const wanted = known.filter(({ weight }) => weight > 0);
  if (wanted.length > 0) return wanted;
  return (known.length > 0 ? known : weighed).map(({ stage }) => ({ stage, weight: 1 }));
}

function pick(possible: readonly Weighed[], random: Random): Stage | undefined {
  if (possible.length <= 1) return possible[0]?.stage;
  let left = random() * possible.reduce((sum, { weight }) => sum + weight, 0);
  for (const { stage, weight } of possible) {
    left -= weight;
    if (left < 0) return stage;
  }
  return possible.at(-1)?.stage;
}

/** A random time between the two, or the second if that is the shorter one. */
function delayOf({ delay }: Stage, object: ApiObject, { nowMs, random }: ChoiceDeps): number {
  const duration = delay?.durationMs(object, nowMs);
  if (!delay || duration === undefined) return 0;
  const latest = delay.latestMs(object, nowMs);
  if (latest === undefined) return duration;
  return latest <= duration ? latest : duration + random() * (latest - duration);
}

/** Numbers that depend on the name alone, so that the course of an object does not depend on what others do meanwhile. */
export function randomPerName(random: Random): (name: string) => Random {
  const seed = Math.floor(random() * 2 ** 32);
  return (name) => {
    let hash = seed;
    for (let at = 0; at < name.length; at++) hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193);
    return seededRandom(hash);
  };
}
