import { type QueueAnswer } from "#trace/answers.ts";
import { type WaitingPods } from "../binding/waiting-pods.ts";
import { type Gated } from "../gated.ts";
import { type SchedulingQueue } from "../queue.ts";

interface Places {
  readonly queue: SchedulingQueue;
  readonly gated: Gated;
  readonly waiting: WaitingPods;
}

/** Where a pod waits in the scheduler, and what it waits for. */
export function whereIs(key: string, { queue, gated, waiting }: Places): QueueAnswer | undefined {
  const gate = gated.get(key);
  if (gate) return { place: "gated", plugin: gate.plugin, reason: gate.reason, wokenBy: {} };
  const held = waiting.byUid(key.slice(key.lastIndexOf("/") + 1));
  if (held) return { place: "permit", plugin: [...held.pending].join(", "), wokenBy: {} };
  return queue.describe(key);
}

/** Allows something so many times in each second. */
export class SecondMeter {
  readonly #max: number;
  #second = -1;
  #taken = 0;

  constructor(max: number) {
    this.#max = max;
  }

  take(nowMs: number): boolean {
    const second = Math.floor(nowMs / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#taken = 0;
    }
    return this.#taken++ < this.#max;
  }
}
