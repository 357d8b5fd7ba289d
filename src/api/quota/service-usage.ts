import { Service } from "#api/core/service.ts";
import { countName, type Evaluator } from "./evaluator.ts";

const names: ReadonlySet<string> = new Set([
  countName(Service),
  "services",
  "services.nodeports",
  "services.loadbalancers",
]);

/** Services take node ports and load balancers by their type. */
export const serviceEvaluator: Evaluator<Service> = {
  measures: (name) => names.has(name),
  // The type of a service can change.
  isCharged: ({ subresource }) => subresource === "",
  usage: (service) => ({
    [countName(Service)]: "1",
    services: "1",
    "services.nodeports": String(nodePortsOf(service)),
    "services.loadbalancers": service.spec.type === "LoadBalancer" ? "1" : "0",
  }),
};

/** Node ports may not be allocated yet, so the intent counts. */
function nodePortsOf({ spec: { type, ports = [], allocateLoadBalancerNodePorts } }: Service): number {
  if (type === "NodePort") return ports.length;
  if (type !== "LoadBalancer") return 0;
  return allocateLoadBalancerNodePorts === false ? ports.filter(({ nodePort }) => nodePort).length : ports.length;
}
