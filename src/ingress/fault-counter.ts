import { Ingress } from "#api/networking/ingress.ts";
import { type EventRecorder } from "#client/events.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type Informers } from "#runtime/informer.ts";
import { type Route } from "./routing/route.ts";

export interface FaultCounterDeps {
  readonly events: EventRecorder;
  readonly informers: Informers;
  readonly clock: Clock;
}

const reportMs = 10_000;
const maxKept = 1_000;

/** Counts requests that no backend answered, and reports them to the users whose routes they took. */
export class FaultCounter {
  readonly #deps: FaultCounterDeps;
  /** By owner: how many, and the last fault. */
  readonly #faults = new Map<string, { count: number; fault: string }>();

  constructor(deps: FaultCounterDeps) {
    this.#deps = deps;
  }

  add({ owner }: Pick<Route, "owner">, fault: string): void {
    const known = this.#faults.get(owner);
    if (known) Object.assign(known, { count: known.count + 1, fault });
    else if (this.#faults.size < maxKept) this.#faults.set(owner, { count: 1, fault });
  }

  async run(signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.#deps.clock.sleep(reportMs, signal);
      this.report();
    }
  }

  report(): void {
    for (const [owner, { count, fault }] of this.#faults) {
      const about = this.#find(owner);
      const requests = count === 1 ? "1 request" : `${count} requests`;
      if (about)
        this.#deps.events.event(
          about,
          "Warning",
          "RequestsFailed",
          `${requests} got no answer from a backend: ${fault}`,
        );
    }
    this.#faults.clear();
  }

  #find(owner: string): Ingress | undefined {
    const [kind, key = ""] = owner.split(" ");
    const [namespace = "", name = ""] = key.split("/");
    return kind === "Ingress" ? this.#deps.informers.of(Ingress).get({ namespace, name }) : undefined;
  }
}
