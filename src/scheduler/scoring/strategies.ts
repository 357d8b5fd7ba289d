import { type ScoringStrategy, type ShapePoint } from "../args/plugin-args.ts";
import { maxScore } from "../normalize.ts";
import { type PodRequest } from "../resources.ts";
import { type NodeInfo } from "../snapshot.ts";
import { type CountDevices, type Counted, countedOf, usual } from "./amounts.ts";

/** The score of one resource by what would be requested of it. */
type Rate = (requested: number, allocatable: number) => number;

/** How a node scores for a pod by what is requested on it, from 0 to 100. */
export function scoreByStrategy(
  strategy: ScoringStrategy,
  devices?: CountDevices,
): (node: NodeInfo, request: PodRequest) => number {
  const resources = strategy.resources?.length ? strategy.resources : usual;
  const counted = resources.map((resource) => countedOf(resource, true, devices));
  const shape = strategy.requestedToCapacityRatio?.shape ?? [];
  switch (strategy.type) {
    case "MostAllocated":
      return (node, request) => Math.trunc(meanOf(counted, node, request, mostAllocated, false));
    case "RequestedToCapacityRatio": {
      const rate = byShape(shape);
      return (node, request) => Math.round(meanOf(counted, node, request, rate, true));
    }
    default:
      return (node, request) => Math.trunc(meanOf(counted, node, request, leastAllocated, false));
  }
}

/** The weighted mean of the resources that the node has. With `skipsZero`, those that score nothing do not count. */
function meanOf(
  counted: readonly Counted[],
  node: NodeInfo,
  request: PodRequest,
  rate: Rate,
  skipsZero: boolean,
): number {
  let sum = 0;
  let weights = 0;
  for (const { weight, isOptional, asked, used, allocatable } of counted) {
    const amount = asked(request);
    const capacity = allocatable(node);
    if (capacity === 0 || (isOptional && amount === 0)) continue;
    const score = rate(used(node) + amount, capacity);
    if (skipsZero && score === 0) continue;
    sum += weight * score;
    weights += weight;
  }
  return weights === 0 ? 0 : sum / weights;
}

const leastAllocated: Rate = (requested, capacity) =>
  requested > capacity ? 0 : Math.floor(((capacity - requested) * maxScore) / capacity);

const mostAllocated: Rate = (requested, capacity) => Math.floor((Math.min(requested, capacity) * maxScore) / capacity);

/** Scores of a shape go up to 10. */
const shapeScale = 10;

/** Straight lines between the points of the shape. */
function byShape(shape: readonly ShapePoint[]): Rate {
  const points = shape.map(({ utilization, score }) => ({ utilization, score: score * shapeScale }));
  return (requested, capacity) => {
    const percent = requested > capacity ? 100 : Math.floor((requested * 100) / capacity);
    const at = points.findIndex(({ utilization }) => percent <= utilization);
    const end = points[at];
    const start = points[at - 1];
    if (!end) return points.at(-1)?.score ?? 0;
    if (!start) return end.score;
    const rise = (end.score - start.score) * (percent - start.utilization);
    return start.score + Math.trunc(rise / (end.utilization - start.utilization));
  };
}
