/* Sets of NUMA nodes as bits of a number: bit n stands for node n. */

/** More nodes than any machine has that we know of; every set of them is looked at. */
export const maxNumaNodes = 16;

export const maskOf = (nodes: Iterable<number>): number => {
  let mask = 0;
  for (const node of nodes) mask |= 1 << node;
  return mask;
};

export function nodesIn(mask: number): number[] {
  return Array.from({ length: maxNumaNodes }, (_, node) => node).filter((node) => has(mask, node));
}

export const has = (mask: number, node: number): boolean => (mask & (1 << node)) !== 0;

export function sizeOf(mask: number): number {
  let count = 0;
  for (let rest = mask; rest !== 0; rest &= rest - 1) count += 1;
  return count;
}

/** Every set of these nodes but the empty one. */
export function masksOf(nodes: readonly number[]): number[] {
  const all = maskOf(nodes);
  const masks: number[] = [];
  for (let mask = all; mask !== 0; mask = (mask - 1) & all) masks.push(mask);
  return masks.reverse();
}

/** The smaller set first; of two with the same size, that with the lower nodes. */
export const compareMasks = (a: number, b: number): number => sizeOf(a) - sizeOf(b) || a - b;
