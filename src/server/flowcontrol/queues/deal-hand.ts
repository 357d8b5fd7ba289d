import { createHash } from "node:crypto";

/**
 * The queues of one flow, chosen by a hash of its name (shuffle sharding). Two flows rarely have all queues in common, so
 * a flow that fills its queues leaves other flows at least one that is shorter.
 */
export function dealHand(flow: string, { queues, handSize }: { queues: number; handSize: number }): number[] {
  let rest = createHash("sha256").update(flow).digest().readBigUInt64LE();
  const hand: number[] = [];
  for (let dealt = 0; dealt < handSize; dealt++) {
    const left = BigInt(queues - dealt);
    hand.push(nthUntaken(hand, Number(rest % left)));
    rest /= left;
  }
  return hand;
}

/** The n-th queue that is not in the hand yet. */
function nthUntaken(hand: readonly number[], n: number): number {
  let queue = n;
  for (const taken of hand.toSorted((a, b) => a - b)) if (taken <= queue) queue++;
  return queue;
}
