/** Fewer nodes are not worth leaving any out. */
const minNodes = 100;
const minPercentage = 5;

/** How many feasible nodes are enough. With 0 per cent, a smaller share of a larger cluster, as upstream. */
export function enoughNodes(nodes: number, percentage: number): number {
  if (nodes < minNodes) return nodes;
  const share = percentage === 0 ? Math.max(50 - Math.trunc(nodes / 125), minPercentage) : percentage;
  return Math.max(Math.trunc((nodes * share) / 100), minNodes);
}
