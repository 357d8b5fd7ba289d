import { createServer, type Server } from "node:http";
import { type Log } from "#lib/process/log.ts";
import { type ServicePlan } from "./service-map.ts";

/** Load balancers ask one short question at a time; whoever wants more of the node gets no more. */
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

/** Answers load balancers, at each service's health port, whether this node has endpoints of it. */
export class HealthPorts implements AsyncDisposable {
  readonly #address: string;
  readonly #log: Log;
  readonly #checks = new Map<number, Check>();

  /** The address to listen on; "" is all. */
  constructor(address: string, log: Log) {
    this.#address = address;
    this.#log = log;
  }

  /** Opens, keeps and closes ports as the plans say. */
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
      this.#log.warn("health port does not listen", { port, service: `${namespace}/${name}`, error });
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

/** What a load balancer is told, in the form that they know. */
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
