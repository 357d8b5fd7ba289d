import { Ingress } from "#api/networking/ingress.ts";
import { IngressClass } from "#api/networking/ingress-class.ts";
import { ignoreNotFound } from "#api/status.ts";
import { createEventRecorder, type EventRecorder } from "#client/events.ts";
import { runTogether } from "#lib/async/tasks.ts";
import { equal } from "#lib/data/equal.ts";
import { type Random } from "#lib/data/random.ts";
import { type Reconciler, type ReconcilerDeps, watch } from "#runtime/reconciler.ts";
import { type RunDeps, runReconcilers } from "#runtime/run-reconciler.ts";
import { ensure } from "./ensure.ts";
import { FaultCounter } from "./fault-counter.ts";
import { Gateways } from "./gateway/gateways.ts";
import { ensureIngressClass, isOwnIngress } from "./ingress-class.ts";
import { openDataPlane } from "./serve/data-plane.ts";
import { runTraffic } from "./traffic.ts";

export interface IngressOptions {
  /** The address at which clients are accepted; `::` for all. */
  readonly host: string;
  readonly httpPort: number;
  readonly httpsPort: number;
  /** The addresses by which clients reach these ports. */
  readonly addresses: readonly string[];
  /** Called when it accepts connections. */
  onListening?(ports: { readonly httpPort: number; readonly httpsPort: number }): void;
  /** Called when users can create Ingresses of its class, and Gateways. */
  onUsable?(): void;
}

export interface IngressDeps extends RunDeps {
  readonly random: Random;
}

const component = "orlop-ingress";

/** Leads requests from outside of the cluster to services, as Ingresses say, until the signal. */
export async function runIngress(options: IngressOptions, deps: IngressDeps, signal: AbortSignal): Promise<void> {
  const { client, informers } = deps;
  await using events = createEventRecorder(client, { ...deps, component });
  const failures = new FaultCounter({ ...deps, events });
  await using plane = await openDataPlane({
    ...options,
    ...deps,
    onFault: (route, fault) => failures.add(route, fault),
  });
  options.onListening?.(plane);
  const ports = { http: plane.httpPort, https: plane.httpsPort };
  const gateways = new Gateways({ ...deps, ports, addresses: options.addresses });
  const missing = new Set(["ingress", "gateway"]);
  const ready = (part: string): void => {
    missing.delete(part);
    if (missing.size === 0) options.onUsable?.();
  };
  const create = { what: "the ingress class", act: () => ensureIngressClass(client, signal) };
  await runTogether(signal, [
    async (ended) => {
      await ensure(deps, create, ended);
      if (!ended.aborted) ready("ingress");
    },
    async (ended) => {
      await gateways.install(ended);
      if (ended.aborted) return;
      ready("gateway");
      await gateways.run(ended);
    },
    (ended) => failures.run(ended),
    (ended) =>
      runTraffic(
        { ...deps, informers, plane, sources: [gateways], onFaults: (...found) => report(events, ...found) },
        ended,
      ),
    (ended) => runReconcilers([statusWriter(options)], { ...deps, component }, ended),
  ]);
}

/** `orlop why` reads these. */
function report(events: EventRecorder, ingress: Ingress, faults: readonly string[]): void {
  if (faults.length === 0) events.event(ingress, "Normal", "IngressInPlace", "everything that it asks for is in place");
  else events.event(ingress, "Warning", "IngressIgnored", faults.join("; "));
}

/** Publishes where an Ingress is reached. */
const statusWriter =
  ({ addresses }: IngressOptions) =>
  ({ client, informers }: ReconcilerDeps): Reconciler<Ingress> => ({
    name: "ingress-status",
    reconciles: Ingress,
    watches: [
      watch(IngressClass, () =>
        informers
          .of(Ingress)
          .list()
          .map(({ metadata }) => metadata),
      ),
    ],
    async reconcile(ingress, signal) {
      const classes = informers.of(IngressClass);
      if (!isOwnIngress(ingress, (name) => classes.get({ name }))) return;
      const loadBalancer = { ingress: addresses.map((ip) => ({ ip })) };
      if (equal(ingress.status.loadBalancer, loadBalancer)) return;
      await client.updateStatus(Ingress, { ...ingress, status: { loadBalancer } }, { signal }).catch(ignoreNotFound);
    },
  });
