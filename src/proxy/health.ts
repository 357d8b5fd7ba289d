import { createServer, type Server } from "node:http";
import { type Log } from "#lib/process/log.ts";
import { type ServicePlan } from "./service-map.ts";

/** A load balancer sends one short request at a time, so these limits are low. */
const limits = {
  headersTimeout: 5_000,
  requestTimeout: 5_000,
  keepAliveTimeout: 5_000,
  connectionsCheckingInterval: 1_000,
};
const maxConnections = 100;

interface Check {
  readonly server: Server;
  plan: ServicePlan;
}

/** Tells load balancers, on each service's health port, whether this node has endpoints of the service. */
export class HealthPorts implements AsyncDisposable {
  readonly #address: string;
  readonly #log: Log;
  readonly #checks = new Map<number, Check>();

  /** The address to listen on; "" means all. */
  constructor(address: string, log: Log) {
    this.#address = address;
    this.#log = log;
  }

  /** Opens and closes ports according to the plans. */
  update(plans: Iterable<ServicePlan>): void {
    const wanted = new Map<number, ServicePlan>();
    for (const plan of plans) if (plan.health) wanted.set(plan.health.port, plan);
    for (const [port, { server }] of this.#checks) if (!wanted.has(port)) this.#close(port, server);
    for (const [port, plan] of wanted) {
      const check = this.#checks.get(port);
      if (check) check.plan = plan;
      else this.#open(port, plan);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const [port, { server }] of this.#checks) this.#close(port, server);
  }

  #open(port: number, plan: ServicePlan): void {
    const check: Check = { server: createServer(limits), plan };
    check.server.maxConnections = maxConnections;
    this.#checks.set(port, check);
    check.server.on("request", (_request, response) => {
      const { status, headers, body } = healthAnswer(check.plan);
      response.writeHead(status, headers).end(body);
    });
    check.server.on("error", (error) => {
      const { namespace, name } = check.plan;
      this.#log.warn("could not open a health port", { port, service: `${namespace}/${name}`, error });
      if (this.#checks.get(port) === check) this.#checks.delete(port); // The next update tries again.
    });
    check.server.listen(port, ...(this.#address ? [this.#address] : []));
  }

  #close(port: number, server: Server): void {
    this.#checks.delete(port);
    server.close();
    server.closeAllConnections();
  }
}

/** The answer, in the form that load balancers expect from kube-proxy. */
function healthAnswer({ namespace, name, health }: ServicePlan) {
  const localEndpoints = health?.localEndpoints ?? 0;
  return {
    status: localEndpoints > 0 ? 200 : 503,
    headers: {
      "content-type": "application/json",
      "x-content-type-options": "nosniff",
      "x-load-balancing-endpoint-weight": String(localEndpoints),
    },
    body: JSON.stringify({ service: { namespace, name }, localEndpoints, serviceProxyHealthy: true }),
  };
}
