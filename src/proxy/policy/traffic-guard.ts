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
  /** By IP family, each of which has its own rules: resolved when a proxy answers for it. */
  readonly #ready = new Map<string, PromiseWithResolvers<void>>();
  readonly #answers = new Map<string, Restrict>();

  constructor(clock: Clock, families: readonly string[] = ["ip"]) {
    this.#clock = clock;
    for (const family of families) this.#ready.set(family, Promise.withResolvers());
  }

  /** The proxy has applied all rules so far, and answers from now on, in place of one that has ended. */
  answerBy(family: string, restrict: Restrict): void {
    this.#answers.set(family, restrict);
    this.#ready.get(family)?.resolve();
  }

  /** Resolves when the pod, which has just got these addresses, can do no more than its policies allow. */
  async restrict(pod: Pod, addresses: readonly string[]): Promise<void> {
    const task = async (): Promise<void> => {
      await Promise.all(
        Array.from(this.#ready, async ([family, { promise }]) => {
          await promise;
          await this.#answers.get(family)?.(pod, addresses);
        }),
      );
    };
    const outcome = await withDeadline(limitMs, { clock: this.#clock, signal: neverAborted }, task);
    if (outcome === outOfTime) throw new Error("the rules of the pod's network policies are not in place");
  }
}
