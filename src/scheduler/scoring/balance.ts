import { type ResourceSpec } from "../args/plugin-args.ts";
import { maxScore } from "../normalize.ts";
import { type PodRequest } from "../resources.ts";
import { type NodeInfo } from "../snapshot.ts";
import { type CountDevices, countedOf } from "./amounts.ts";

/** How well the used fractions of some resources agree, from 0 to 100, without the pod and with it. */
export function balanceOf(resources: readonly ResourceSpec[], devices?: CountDevices) {
  const counted = resources.map((resource) => countedOf(resource, false, devices));
  return {
    /** A pod that asks for none of them does not change the balance. */
    asksForAny: (request: PodRequest): boolean => counted.some(({ asked }) => asked(request) > 0),

    around(node: NodeInfo, request: PodRequest): { readonly before: number; readonly after: number } {
      const before: number[] = [];
      const after: number[] = [];
      for (const { asked, used, allocatable, isOptional } of counted) {
        const amount = asked(request);
        const capacity = allocatable(node);
        if (capacity === 0 || (isOptional && amount === 0)) continue;
        before.push(Math.min(used(node) / capacity, 1));
        after.push(Math.min((used(node) + amount) / capacity, 1));
      }
      return { before: agreement(before), after: agreement(after) };
    },
  };
}

function agreement(fractions: readonly number[]): number {
  return Math.trunc((1 - deviation(fractions)) * maxScore);
}

/** The standard deviation, which is half the distance of two fractions. */
function deviation(fractions: readonly number[]): number {
  const [first = 0, second = 0] = fractions;
  if (fractions.length === 2) return Math.abs((first - second) / 2);
  if (fractions.length < 2) return 0;
  const mean = fractions.reduce((sum, fraction) => sum + fraction, 0) / fractions.length;
  const squares = fractions.reduce((sum, fraction) => sum + (fraction - mean) ** 2, 0);
  return Math.sqrt(squares / fractions.length);
}
