import { type EventRecorder } from "#client/events.ts";
import { type Clock } from "#lib/async/clock.ts";
import { isAbort, runTogether } from "#lib/async/tasks.ts";
import { type Log } from "#lib/process/log.ts";
import { type Informers } from "#runtime/informer.ts";
import { type TraceRecorder } from "#trace/recorder.ts";
import { type Host, thisHost } from "./apply.ts";
import { FlowClearer } from "./flows/flow-clearer.ts";
import { HealthPorts } from "./health.ts";
import { planKernel } from "./machine/kernel-settings.ts";
import { parseClientPorts } from "./machine/machine-ports.ts";
import { type RuleConfig } from "./nftables.ts";
import { type OwnEndpoint } from "./own-endpoint.ts";
import { type TrafficGuard } from "./policy/traffic-guard.ts";
import { type OwnDeps, ServiceProxy } from "./service-proxy.ts";

type Ranges = Pick<RuleConfig, "tableName" | "podCidr" | "clusterCidr" | "serviceCidr" | "ownPorts">;

export interface ProxyDeps extends Ranges {
  readonly nodeName: string;
  readonly informers: Informers;
  readonly clock: Clock;
  readonly log: Log;
  readonly masqueradeOutgoing?: boolean;
  /** How the links of this node's pods begin; undefined if the pods share a bridge. */
  readonly podLinks?: string | undefined;
  /** The ranges of IPv6, if the cluster has both families. */
  readonly second?: Pick<Ranges, "podCidr" | "clusterCidr" | "serviceCidr"> | undefined;
  /** Records that a service leads to its pods. */
  readonly recorder?: TraceRecorder;
  /** Tells users which parts of their services and pods are ignored. */
  readonly events?: EventRecorder;
  /** Asked before a new pod runs. */
  readonly guard?: TrafficGuard;
  /** A server of this node in place of a service's endpoints. */
  readonly ownEndpoint?: OwnEndpoint;
  readonly host?: Host;
  /** Where health ports listen; "" means every address. */
  readonly healthAddress?: string;
  /** Called whenever the kernel is up to date. */
  onApplied?(): void;
  /** Called whenever no stale flow is left. */
  onFlowsCleared?(): void;
}

/**
 * Keeps the kernel's rules in line with Services, EndpointSlices, NetworkPolicies and the host ports of this node's pods,
 * until the signal. With `second`, there are also rules for IPv6.
 * The rules stay after that, so traffic continues; `removeProxy` removes them. `clusterCidr` decides the family.
 */
export async function runProxy(deps: ProxyDeps, signal: AbortSignal): Promise<void> {
  const host = deps.host ?? thisHost;
  const { second } = deps;
  const isIPv4 = !deps.clusterCidr.includes(":");
  const hasBridge = deps.podLinks === undefined;
  const kernel = isIPv4 ? await planKernel(host, { hasBridge, hasIPv6: second !== undefined }) : undefined;
  const { bridgeIsFiltered6 = false, changed: changedSettings = [] } = kernel ?? {};
  const turnOn = async () => await kernel?.turnOn();
  const bridgeIsFiltered = !hasBridge || (kernel?.bridgeIsFiltered ?? false);
  const clientPorts = parseClientPorts(await host.readSetting("net/ipv4/ip_local_port_range"));
  const first = { ...deps, host, bridgeIsFiltered, changedSettings, clientPorts, turnOn };
  const { recorder: _, ownEndpoint: __, onApplied: ___, onFlowsCleared: ____, ...further } = deps;
  const others = {
    ...further,
    ...second,
    host,
    bridgeIsFiltered: bridgeIsFiltered6,
    changedSettings: [],
    clientPorts,
    turnOn,
  };
  await runTogether(signal, [
    (ended) => runFamily(first, ended),
    ...(second ? [(ended: AbortSignal) => runFamily(others, ended)] : []),
  ]);
}

type FamilyDeps = Omit<OwnDeps, "flows"> & Pick<RuleConfig, "bridgeIsFiltered" | "changedSettings" | "clientPorts">;

/** The rules of one IP family, which are a table of their own. */
async function runFamily(deps: FamilyDeps, signal: AbortSignal): Promise<void> {
  const { host, log } = deps;
  const family = deps.clusterCidr.includes(":") ? "ip6" : "ip";
  const flows = new FlowClearer({ host, family, log, onCleared: () => deps.onFlowsCleared?.() });
  const proxy = new ServiceProxy({ ...deps, flows }, { ...deps, family });
  await using health = new HealthPorts(deps.healthAddress ?? "", log);
  try {
    await runTogether(signal, [(ended) => flows.run(ended), (ended) => proxy.run(health, ended)]);
  } catch (error) {
    if (!isAbort(error, signal)) throw error;
  } finally {
    proxy.stop();
  }
  // The rules stay, and must not lead to a server that ends with this process.
  await proxy.leave().catch((error: unknown) => log.warn("a rule leads to a server that has ended", { error }));
}
