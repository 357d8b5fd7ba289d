import type { PortSpan } from "./machine/machine-ports.ts";
import { inRange } from "./parse-values.ts";
import { type PortPlan, type ServicePlan } from "./service-map.ts";

/** Addresses that cannot be a service's external address. The kernel's rules enforce this; here it is reported to users. */
export interface TakenAddresses {
  /** The addresses of all nodes, and all others of this machine. */
  readonly nodes: ReadonlySet<string>;
  readonly clusterCidr: string;
  readonly serviceCidr?: string | undefined;
  readonly own?: OwnPlaces | undefined;
}

/** The addresses of this machine, the ports of its programs, and the ports that its clients get. */
export interface OwnPlaces {
  readonly addresses: ReadonlySet<string>;
  readonly ports: ReadonlySet<string>;
  readonly clientPorts: PortSpan;
}

/** Limits the reported faults per service and per address: nobody reads more. */
const maxFaults = 8;
const maxHolders = 100;

/** Which services want which external address, so that those that do not get theirs can be told. */
export class AddressClaims {
  readonly #plans: ReadonlyMap<string, ServicePlan>;
  /** The services that want an address as an external one, and those that have it as a cluster address. */
  readonly #wanted = new Map<string, Set<string>>();
  readonly #cluster = new Map<string, Set<string>>();

  constructor(plans: ReadonlyMap<string, ServicePlan>) {
    this.#plans = plans;
  }

  /** Records a change. Returns the services, at most a few, that may have got or lost an address by it. */
  update(key: string, old: ServicePlan | undefined, now: ServicePlan | undefined): string[] {
    const affected = new Set([key]);
    for (const [plan, change] of [[old, remove] as const, [now, add] as const]) {
      for (const address of outsideOf(plan)) change(this.#wanted, address, key);
      for (const address of plan?.ports[0]?.clusterIPs ?? []) change(this.#cluster, address, key);
    }
    for (const plan of [old, now]) {
      for (const address of [...outsideOf(plan), ...(plan?.ports[0]?.clusterIPs ?? [])]) {
        for (const other of this.#wanted.get(address) ?? []) {
          if (affected.size > maxHolders) return [...affected];
          affected.add(other);
        }
      }
    }
    return [...affected];
  }

  /** Why a service does not get an address that it asks for. */
  faultsOf(plan: ServicePlan, taken: TakenAddresses): string[] {
    const faults = [...plan.faults];
    for (const address of outsideOf(plan)) {
      if (faults.length >= maxFaults) break;
      const reason = this.#reasonAgainst(plan, address, taken);
      if (reason) faults.push(`external address ${address} is ignored: ${reason}`);
    }
    for (const { loadBalancerIPs, protocol, port } of plan.ports) {
      if (faults.length >= maxFaults) break;
      const reason = taken.own && ownerOf(taken.own, protocol, port);
      if (reason && loadBalancerIPs.some((address) => taken.own?.addresses.has(address)))
        faults.push(`port ${port} of the load balancer is ignored: ${reason}`);
    }
    return faults;
  }

  #reasonAgainst(plan: ServicePlan, address: string, taken: TakenAddresses): string | undefined {
    const isBalanced = plan.ports[0]?.loadBalancerIPs.includes(address);
    if (this.#cluster.has(address) || (taken.serviceCidr && inRange(address, taken.serviceCidr))) {
      return "it belongs to the services of the cluster";
    }
    if (!isBalanced && taken.nodes.has(address)) return "it belongs to a node";
    if (!isBalanced && inRange(address, taken.clusterCidr)) return "it belongs to the pods of the cluster";
    return this.#hasOlderHolder(plan, address) ? "an older service has it on the same port" : undefined;
  }

  #hasOlderHolder(plan: ServicePlan, address: string): boolean {
    const places = new Set(plan.ports.map(placeOf));
    let looked = 0;
    for (const key of this.#wanted.get(address) ?? []) {
      if (looked++ > maxHolders) break;
      const other = this.#plans.get(key);
      if (other && other.rank < plan.rank && other.ports.some((port) => places.has(placeOf(port)))) return true;
    }
    return false;
  }
}

function ownerOf({ ports, clientPorts: [first, last] }: OwnPlaces, protocol: string, port: number): string | undefined {
  if (ports.has(`${protocol} . ${port}`)) return "a program of this machine listens on it";
  const isClients = protocol === "udp" && port >= first && port <= last;
  return isClients ? `programs of this machine use the UDP ports ${first} to ${last}` : undefined;
}

const placeOf = ({ protocol, port }: PortPlan): string => `${protocol} ${port}`;

/** The external addresses, which all ports of a service share. */
function outsideOf(plan: ServicePlan | undefined): readonly string[] {
  const [port] = plan?.ports ?? [];
  return port ? [...port.externalIPs, ...port.loadBalancerIPs] : [];
}

type Index = Map<string, Set<string>>;

function add(index: Index, address: string, key: string): void {
  const keys = index.get(address);
  if (keys) keys.add(key);
  else index.set(address, new Set([key]));
}

function remove(index: Index, address: string, key: string): void {
  const keys = index.get(address);
  keys?.delete(key);
  if (keys?.size === 0) index.delete(address);
}
