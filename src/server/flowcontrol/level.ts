import { type PriorityLevelConfiguration } from "#api/flowcontrol/priority-level-configuration.ts";
import { type Clock } from "#lib/async/clock.ts";
import { BoundedCache } from "#lib/data/bounded-cache.ts";
import { type Bounds } from "./limits/plan-limits.ts";
import { dealHand } from "./queues/deal-hand.ts";
import { type Pace } from "./queues/pace.ts";
import { QueueSet, type Response } from "./queues/queue-set.ts";
import { Tally } from "./queues/ticket.ts";
import { RetryAfter } from "./retry-after.ts";

const noBounds: Bounds = { nominal: 0, lower: 0, upper: 0, maxSeats: 0 };
const rememberedHands = { entries: 4096, chars: 256 * 1024, keyChars: 512 };
/** More FlowSchemas than any cluster has; what comes after them is counted together. */
const maxTallies = 1000;

/** A priority level at work. */
export class Level {
  readonly name: string;
  readonly set: QueueSet;
  readonly retryAfter = new RetryAfter();
  readonly tallies = new Map<string, Tally>();
  bounds = noBounds;
  /** What it was meant to get at the last adjustment. */
  target = 0;
  /** It is gone from the configuration, and only ends what it has. */
  isQuiescing = false;
  #object: PriorityLevelConfiguration;
  #hands = new BoundedCache<readonly number[]>(rememberedHands);

  constructor(object: PriorityLevelConfiguration, { clock, pace }: { clock: Clock; pace: Pace }) {
    this.name = object.metadata.name;
    this.set = new QueueSet(clock, pace);
    this.#object = object;
    this.#useResponse();
  }

  /** How many requests its queues hold. */
  get capacity(): number {
    const { response } = this.set;
    return response.type === "Queue" ? response.queues * response.queueLength : 0;
  }

  #useResponse(): void {
    this.set.response = responseOf(this.#object);
    this.set.times.capacity = Math.max(1, this.capacity);
  }

  get object(): PriorityLevelConfiguration {
    return this.#object;
  }
  set object(object: PriorityLevelConfiguration) {
    this.#object = object;
    this.#useResponse();
    this.#hands = new BoundedCache(rememberedHands);
    this.isQuiescing = false;
  }

  tallyOf(schema: string): Tally {
    const known = this.tallies.get(schema);
    if (known) return known;
    const name = this.tallies.size < maxTallies ? schema : "";
    const tally = this.tallies.get(name) ?? new Tally(this.name, name);
    this.tallies.set(name, tally);
    return tally;
  }

  /** The queues of a flow. */
  handOf(schema: string, distinguisher: string): readonly number[] {
    const { response } = this.set;
    if (response.type !== "Queue") return none;
    if (response.queues === 1) return only;
    const flow = `${schema}\0${distinguisher}`;
    const known = this.#hands.get(flow);
    if (known) return known;
    const hand = dealHand(flow, response);
    this.#hands.set(flow, hand, hand.length);
    return hand;
  }
}
const none: readonly number[] = [];
const only: readonly number[] = [0];

function responseOf({ spec }: PriorityLevelConfiguration): Response {
  if (spec.type === "Exempt") return { type: "Exempt" };
  const { queuing } = spec.limited?.limitResponse ?? {};
  if (!queuing) return { type: "Reject" };
  const { queues, handSize, queueLengthLimit: queueLength } = queuing;
  return { type: "Queue", queues, handSize, queueLength };
}
