import { type Service } from "#api/core/service.ts";
import { type EndpointSlice } from "#api/discovery/endpoint-slice.ts";
import { canonicalAddress, ipFamily } from "#api/meta/ip-address.ts";

/** Where requests for a port of a service go. */
export interface BackendPlan {
  readonly endpoints: readonly EndpointPlan[];
  /** The endpoints expect HTTP/2 without TLS. */
  readonly isHttp2: boolean;
  /** Why there is nowhere to go. */
  readonly fault: string | undefined;
}

export interface EndpointPlan {
  readonly address: string;
  readonly port: number;
}

/** More than a node's proxy can use at once; the rest would only cost memory. */
const maxEndpoints = 5_000;

export interface BackendFacts {
  readonly namespace: string;
  readonly name: string;
  /** A name or a number of a port of the service. */
  readonly port: string;
  readonly service: Service | undefined;
  readonly slices: readonly EndpointSlice[];
  /** What the port speaks does not matter, because its bytes come from the client. */
  readonly isBytes?: boolean;
}

/** Decides which endpoints a backend has: the ready ones, or else those that still serve while they end. */
export function planBackend({ namespace, name, port, service, slices, isBytes = false }: BackendFacts): BackendPlan {
  const where = `service ${namespace}/${name}`;
  if (!service) return unusable(`${where} does not exist`);
  // Its name could lead anywhere, such as to the machine itself.
  if (service.spec.type === "ExternalName") return unusable(`${where} is an ExternalName, which is not supported`);
  const found = (service.spec.ports ?? []).find(
    (one) => (one.protocol ?? "TCP") === "TCP" && (one.name === port || String(one.port) === port),
  );
  if (!found) return unusable(`${where} has no TCP port ${port}`);
  const protocol = found.appProtocol ?? "";
  if (!isBytes && /^(https|kubernetes\.io\/wss)$/i.test(protocol)) {
    return unusable(
      `port ${port} of ${where} has the application protocol ${protocol}: TLS to backends is not supported`,
    );
  }
  const endpoints = endpointsOf(found.name ?? "", slices);
  const fault = endpoints.length === 0 ? `${where} has no endpoints that are ready` : undefined;
  return { endpoints, isHttp2: protocol === "kubernetes.io/h2c", fault };
}

const unusable = (fault: string): BackendPlan => ({ endpoints: [], isHttp2: false, fault });

function endpointsOf(portName: string, slices: readonly EndpointSlice[]): EndpointPlan[] {
  const ready = new Map<string, EndpointPlan>();
  const draining = new Map<string, EndpointPlan>();
  for (const { addressType, endpoints, ports = [], metadata } of slices) {
    const port = ports.find(({ name = "", protocol = "TCP" }) => name === portName && protocol === "TCP")?.port;
    if (!port || addressType === "FQDN" || metadata.deletionTimestamp) continue;
    for (const { addresses, conditions } of endpoints) {
      const address = usableAddress(addresses[0]);
      if (!address || ready.size + draining.size >= maxEndpoints) continue;
      const { ready: isReady = true, serving = isReady, terminating = false } = conditions ?? {};
      const key = `${address} ${port}`;
      if (isReady) ready.set(key, { address, port });
      else if (serving && terminating) draining.set(key, { address, port });
    }
  }
  return [...(ready.size > 0 ? ready : draining).values()];
}

/** The API refuses such addresses in slices. This process sits where they would lead to the machine itself. */
const forbidden = /^(0\.|127\.|169\.254\.|22[4-9]\.|23\d\.|2[45]\d\.)|^(::1?$|fe[89ab]|ff)|^::ffff:/i;

function usableAddress(text: string | undefined): string | undefined {
  if (!text || !ipFamily(text)) return undefined;
  const address = canonicalAddress(text);
  return address && !forbidden.test(address) ? address : undefined;
}
