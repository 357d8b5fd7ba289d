import { json } from "../lib/connections.ts";
import { inFlight } from "../lib/in-flight.ts";
import { pod } from "../lib/objects.ts";
import { podsOf, type Scenario } from "./scenario.ts";

/** Nobody schedules these pods, so the API server has the machine to itself. */
const unscheduled = { schedulerName: "nobody" };

export const create: Scenario = {
  name: "create",
  unit: "pods",
  async run(target) {
    const { connections, pods, width } = target;
    const latencies = await inFlight({ count: pods, width }, (n) =>
      connections.call({ method: "POST", path: podsOf(target), body: json(pod(`p-${n}`, unscheduled)) }),
    );
    return { count: pods, latencies };
  },
};

export const get: Scenario = {
  name: "get",
  unit: "pods",
  async run(target) {
    const { connections, pods, width } = target;
    const latencies = await inFlight({ count: pods, width }, (n) =>
      connections.call({ method: "GET", path: `${podsOf(target)}/p-${n}` }),
    );
    return { count: pods, latencies };
  },
};

/** Lists the whole namespace from the cache, two requests at a time. */
export const list: Scenario = {
  name: "list",
  unit: "lists",
  async run(target) {
    const path = `${podsOf(target)}?resourceVersion=0`;
    const latencies = await inFlight({ count: 20, width: 2 }, () => target.connections.call({ method: "GET", path }));
    return { count: 20, latencies };
  },
};

/** The usual work of kubelets: patches each pod's status once. */
export const churn: Scenario = {
  name: "churn",
  unit: "patches",
  async run(target) {
    const { connections, pods, width } = target;
    const condition = { type: "Ready", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" };
    const body = json({ status: { phase: "Running", podIP: "10.0.0.1", conditions: [condition] } });
    const type = "application/strategic-merge-patch+json";
    const latencies = await inFlight({ count: pods, width }, (n) =>
      connections.call({ method: "PATCH", path: `${podsOf(target)}/p-${n}/status`, body, type }),
    );
    return { count: pods, latencies };
  },
};
