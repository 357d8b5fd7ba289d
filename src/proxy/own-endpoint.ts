import { type PortPlan, type ServicePlan, type Target } from "./service-map.ts";

/** Where a server of this node listens. */
export interface OwnServer {
  readonly address: string;
  readonly port: number;
}

/**
 * A server of this node that answers at the cluster address of a service in place of the service's endpoints, while it runs.
 * It needs no object in the API, so a node cannot offer its server to the pods of others.
 */
export class OwnEndpoint {
  readonly clusterIP: string;
  /** The only port of the service that leads here. */
  readonly servicePort: number;
  #server: OwnServer | undefined;
  #onChange = (): void => undefined;

  constructor(clusterIP: string, servicePort: number) {
    this.clusterIP = clusterIP;
    this.servicePort = servicePort;
  }
  /** Undefined while it does not run. */
  get server(): OwnServer | undefined {
    return this.#server;
  }
  set server(server: OwnServer | undefined) {
    this.#server = server;
    this.#onChange();
  }
  /** There is one handler: that of the proxy. */
  onChange(handler: () => void): void {
    this.#onChange = handler;
  }
}

type OwnEndpointFacts = Pick<OwnEndpoint, "clusterIP" | "servicePort" | "server">;

/** The plan with this node's own server as the only endpoint, if the service has its address. */
export function planOwnEndpoint(plan: ServicePlan, own: OwnEndpointFacts | undefined): ServicePlan {
  if (!own?.server || !plan.ports.some(({ clusterIPs }) => clusterIPs.includes(own.clusterIP))) return plan;
  const { address, port } = own.server;
  const target = { address, port, isLocal: true };
  return {
    ...plan,
    ports: plan.ports.map((one) => (one.port === own.servicePort ? leadingTo(one, target) : one)),
  };
}

const leadingTo = (port: PortPlan, target: Target): PortPlan => ({
  ...port,
  cluster: [target],
  local: port.internalLocal || port.externalLocal ? [target] : [],
  hasEndpoints: true,
});
