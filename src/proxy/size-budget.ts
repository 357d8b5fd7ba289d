import { type ServicePlan } from "./service-map.ts";

/** For all services of a namespace together. A service that does not fit gets no rules. */
const maxNamespaceSize = 200_000;

/** Limits the services of each namespace to a size that the node can program. */
export class SizeBudget {
  /** Sizes by service, and totals by namespace. */
  readonly #sizes = new Map<string, number>();
  readonly #used = new Map<string, number>();
  /** Services that did not fit, but may when others are gone. */
  readonly crowded = new Set<string>();

  /** Returns the plan, or an empty one if it does not fit. */
  fit(key: string, plan: ServicePlan | undefined): ServicePlan | undefined {
    const namespace = key.slice(0, key.indexOf("/"));
    const others = (this.#used.get(namespace) ?? 0) - (this.#sizes.get(key) ?? 0);
    const fits = others + (plan?.size ?? 0) <= maxNamespaceSize;
    const size = fits ? (plan?.size ?? 0) : 0;
    setOrDelete(this.#sizes, key, size);
    setOrDelete(this.#used, namespace, others + size);
    if (fits) this.crowded.delete(key);
    else this.crowded.add(key);
    if (fits || !plan) return plan;
    const fault = `the service has no rules: those of its namespace need more than ${maxNamespaceSize} entries`;
    return { ...plan, ports: [], health: undefined, faults: [...plan.faults, fault] };
  }
}

function setOrDelete(map: Map<string, number>, key: string, value: number): void {
  if (value > 0) map.set(key, value);
  else map.delete(key);
}
