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
  readonly #families = new Map<string, PromiseWithResolvers<Restrict>>();

  /** Each IP family has its own rules, and a proxy for them. */
  constructor(clock: Clock, families: readonly string[] = ["ip"]) {
    this.#clock = clock;
    for (const family of families) this.#families.set(family, Promise.withResolvers());
  }

  /** The proxy has applied all rules so far, and answers from now on. */
  answerBy(family: string, restrict: Restrict): void {
    this.#families.get(family)?.resolve(restrict);
  }

  /** Resolves when the pod, which has just got these addresses, can do no more than its policies allow. */
  async restrict(pod: Pod, addresses: readonly string[]): Promise<void> {
    const task = async (): Promise<void> => {
      await Promise.all([...this.#families.values()].map(async ({ promise }) => (await promise)(pod, addresses)));
    };
    const outcome = await withDeadline(limitMs, { clock: this.#clock, signal: neverAborted }, task);
    if (outcome === outOfTime) throw new Error("the rules of the pod's network policies are not in place");
  }
}
