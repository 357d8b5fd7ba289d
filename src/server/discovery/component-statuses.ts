import { ComponentStatus } from "#api/core/component-status.ts";
import { apiVersionOf, groupResource } from "#api/resource.ts";
import { StatusError } from "#api/status.ts";
import { type Endpoint } from "../dispatch.ts";
import { listRequest, selectionOf } from "../endpoints/list-options.ts";
import { codecOf, EncodedObject } from "../objects/encode-once.ts";
import { faultOf, type HealthCheck } from "./health.ts";

/** The components of the control plane, with upstream's names: scheduler, controller-manager, etcd-0. */
export class Components {
  readonly #checks = new Map<string, HealthCheck>();
  readonly #running = new Set<string>();

  constructor(store: HealthCheck["check"]) {
    for (const name of ["scheduler", "controller-manager"]) this.#add(name, () => this.#faultOf(name));
    this.#add("etcd-0", store);
  }

  #add(name: string, check: HealthCheck["check"]): void {
    this.#checks.set(name, { name, check });
  }

  #faultOf(name: string): string | undefined {
    return this.#running.has(name) ? undefined : "does not run in this server";
  }

  /** Healthy until the returned function is called. */
  runs(name: "scheduler" | "controller-manager"): () => void {
    this.#running.add(name);
    return () => this.#running.delete(name);
  }

  get checks(): ReadonlyMap<string, HealthCheck> {
    return this.#checks;
  }
}

/** Answers for `/api/v1/componentstatuses`, by `plural.group`. */
export const componentEndpoints = (components: Components): [string, Endpoint] => [
  groupResource(ComponentStatus, ComponentStatus.plural),
  async (context, resource) => {
    const { verb, name } = context.info;
    const selection = selectionOf(context, resource);
    if (verb === "list") {
      listRequest(context.query);
      const all = await Promise.all(Array.from(components.checks.values(), statusOf));
      const items = all.filter((status) => selection.matches(status)).map(encode);
      return {
        type: "list",
        resource,
        items,
        list: { resourceVersion: "", continue: "", remainingItemCount: undefined },
      };
    }
    const check = components.checks.get(name);
    // Upstream names the kind here, not the resource.
    if (!check)
      throw new StatusError("NotFound", `componentstatus "${name}" not found`, { name, kind: "componentstatus" });
    return { type: "object", status: 200, resource, encoded: encode(await statusOf(check)) };
  },
];

async function statusOf(check: HealthCheck): Promise<ComponentStatus> {
  const fault = await faultOf(check);
  const health = { type: "Healthy", status: fault === undefined ? "True" : "False", message: fault ?? "ok" };
  const { kind } = ComponentStatus;
  return {
    kind,
    apiVersion: apiVersionOf(ComponentStatus),
    metadata: { name: check.name },
    conditions: [health],
  } as ComponentStatus;
}

const encode = (status: ComponentStatus): EncodedObject =>
  new EncodedObject(codecOf(ComponentStatus), 0, { object: status });
