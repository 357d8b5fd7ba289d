import type { Pod } from "#api/core/pod.ts";
import { type Clock } from "#lib/async/clock.ts";
import { outOfTime, withDeadline } from "#lib/async/deadline.ts";
import { neverAborted } from "#lib/async/tasks.ts";

type Restrict = (pod: Pod, addresses: readonly string[]) => Promise<void>;

/** By then the kernel has the rules, or something is wrong. */
const limitMs = 10_000;

/** Restricts the traffic of a new pod before anything in it runs. The kubelet asks, and the proxy of the node answers. */
export class TrafficGuard {
  readonly #clock: Clock;
  readonly #answers = Promise.withResolvers<Restrict>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The proxy has applied all rules so far, and answers from now on. */
  answerBy(restrict: Restrict): void {
    this.#answers.resolve(restrict);
  }

  /** Resolves when the pod, which has just got these addresses, can do no more than its policies allow. */
  async restrict(pod: Pod, addresses: readonly string[]): Promise<void> {
    const task = async (): Promise<void> => await (await this.#answers.promise)(pod, addresses);
    const outcome = await withDeadline(limitMs, { clock: this.#clock, signal: neverAborted }, task);
    if (outcome === outOfTime) throw new Error("the rules of the pod's network policies are not in place");
  }
}
