import { Node } from "#api/core/node.ts";
import { Service } from "#api/core/service.ts";
import { findCondition } from "#api/meta/condition.ts";
import { ipFamily } from "#api/meta/ip-address.ts";
import { ignoreNotFound } from "#api/status.ts";
import { compareText } from "#lib/data/compare-text.ts";
import { equal } from "#lib/data/equal.ts";
import { type Change } from "#runtime/informer.ts";
import { type Reconciler, type ReconcilerDeps, watch } from "#runtime/reconciler.ts";

type LoadBalancer = Service["status"]["loadBalancer"];

/**
 * Gives LoadBalancer services the addresses of the nodes, whose proxies lead traffic on. Programs of the machines keep their
 * ports. It runs only if it is named in `--controllers`, as it is by default for `orlop up`.
 */
export function serviceLbController({ client, informers, events }: ReconcilerDeps): Reconciler<Service> {
  const balanced = (): Service[] => informers.of(Service).list().filter(isBalanced);
  return {
    name: "service-lb",
    reconciles: Service,
    watches: [
      watch(Node, (change) =>
        change.type === "put" && isSame(change.object, change.previous) ? [] : refsOf(balanced()),
      ),
      watch(Service, (change) => refsOf(planWaking(change, balanced))),
    ],

    async reconcile(service, signal) {
      if (service.metadata.deletionTimestamp) return;
      const { loadBalancer, fault } = planLoadBalancer(service, {
        services: balanced(),
        nodes: informers.of(Node).list(),
      });
      if (fault) events.event(service, "Warning", "PortUnavailable", fault);
      if (!loadBalancer || equal(service.status.loadBalancer, loadBalancer)) return;
      const status = { ...service.status, loadBalancer };
      await client.updateStatus(Service, { ...service, status }, { signal }).catch(ignoreNotFound);
    },
  };
}

const refsOf = (services: readonly Service[]) => services.map(({ metadata }) => metadata);

/** The services that may get or lose a port by a change of another one: few, so that many services do not wake each other. */
export function planWaking(change: Change<Service>, balanced: () => readonly Service[]): Service[] {
  const { type, object } = change;
  const before = type === "put" ? change.previous : object;
  const held = before && isOurs(before) ? portsOf(before) : [];
  const wanted = type === "put" && isBalanced(object) ? portsOf(object) : [];
  const moved = new Set(held).symmetricDifference(new Set(wanted));
  if (moved.size === 0) return [];
  return balanced().filter((other) => portsOf(other).some((port) => moved.has(port)));
}

/** Those of a class belong to somebody else. */
const isOurs = ({ spec }: Service): boolean => spec.type === "LoadBalancer" && spec.loadBalancerClass === undefined;
const isBalanced = (service: Service): boolean => isOurs(service) && !service.metadata.deletionTimestamp;

const isSame = (now: Node, before: Node | undefined): boolean =>
  before !== undefined && equal(addressesOf([now]), addressesOf([before]));

export interface LoadBalancerPlan {
  /** Undefined if it is none of our business. */
  readonly loadBalancer: LoadBalancer | undefined;
  readonly fault?: string;
}

export interface LoadBalancerFacts {
  /** All services that want addresses of nodes, with this one. */
  readonly services: readonly Service[];
  readonly nodes: readonly Node[];
}

/** Pure. All services share the addresses, so a port belongs to the oldest one that wants it. */
export function planLoadBalancer(service: Service, { services, nodes }: LoadBalancerFacts): LoadBalancerPlan {
  const { spec, status } = service;
  if (spec.loadBalancerClass !== undefined) return { loadBalancer: undefined };
  if (spec.type !== "LoadBalancer") {
    // What the service had before its type changed is taken back.
    return { loadBalancer: status.loadBalancer.ingress?.length ? {} : undefined };
  }
  const wanted = new Set(portsOf(service));
  const holder = services
    .filter((other) => compareText(rankOf(other), rankOf(service)) < 0)
    .find((other) => portsOf(other).some((port) => wanted.has(port)));
  if (holder) return { loadBalancer: {}, fault: "an older LoadBalancer service has one of its ports" };
  const families: readonly string[] = spec.ipFamilies ?? ["IPv4"];
  const points = addressesOf(nodes).filter((address) => families.includes(ipFamily(address) ?? ""));
  return { loadBalancer: points.length > 0 ? { ingress: points.map((ip) => ({ ip, ipMode: "VIP" })) } : {} };
}

const rankOf = ({ metadata: { namespace, name, creationTimestamp = "9999" } }: Service): string =>
  `${creationTimestamp} ${namespace}/${name}`;

const portsOf = ({ spec }: Service): string[] =>
  (spec.ports ?? []).map(({ port, protocol }) => `${protocol ?? "TCP"} ${port}`);

const excludedLabel = "node.kubernetes.io/exclude-from-external-load-balancers";

/** The external addresses of the nodes that are ready, or else their internal ones; sorted. */
function addressesOf(nodes: readonly Node[]): string[] {
  const usable = nodes.filter(
    ({ metadata, status }) =>
      metadata.labels?.[excludedLabel] === undefined &&
      !metadata.deletionTimestamp &&
      findCondition(status.conditions, "Ready")?.status === "True",
  );
  const all = usable.flatMap(({ status }) => {
    const ofType = (type: string) => (status.addresses ?? []).filter((one) => one.type === type);
    const external = ofType("ExternalIP");
    return (external.length > 0 ? external : ofType("InternalIP")).map(({ address }) => address);
  });
  return [...new Set(all)].sort();
}
