import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { Service } from "#api/core/service.ts";
import { EndpointSlice } from "#api/discovery/endpoint-slice.ts";
import { serviceNameLabel, zoneLabel } from "#api/well-known.ts";
import { type Clock } from "#lib/clock.ts";
import { equal } from "#lib/equal.ts";
import { type Log } from "#lib/log.ts";
import { isAbort, orAborted } from "#lib/tasks.ts";
import { type Informers } from "#runtime/informer.ts";
import { type Span, type TraceRecorder } from "#trace/recorder.ts";
import { parseTraceparent } from "#trace/trace.ts";
import { applyRules, deleteTable, type Host, hasTable, thisHost } from "./apply.ts";
import { clearFlows, planStaleFlows, type StaleFlow } from "./conntrack.ts";
import { HealthPorts } from "./health.ts";
import { type HostPort, planHostPorts, planStaleHostFlows, renderHostPorts } from "./host-ports.ts";
import { prepareKernel, restoreKernel } from "./kernel-settings.ts";
import { type RuleConfig, renderService, tableFrame } from "./nftables.ts";
import { RuleTable } from "./rule-table.ts";
import { type NodePlace, planService, type ServicePlan } from "./service-map.ts";

export interface ProxyDeps extends Pick<RuleConfig, "tableName" | "podCidr" | "clusterCidr" | "serviceCidr"> {
  readonly nodeName: string;
  readonly informers: Informers;
  readonly clock: Clock;
  readonly log: Log;
  readonly masqueradeOutgoing?: boolean;
  /** Where it is recorded that a service leads to its pods. */
  readonly recorder?: TraceRecorder;
  readonly host?: Host;
  /** Where health ports listen; "" is every address. */
  readonly healthAddress?: string;
  /** Called whenever the kernel has all that is known. */
  onApplied?(): void;
}

/** Time from one transaction to the next: a burst of changes becomes one. */
const pauseMs = 50;
/** How often to look whether the table is still there. */
const checkMs = 30_000;
const retryMs = 1_000;

/**
 * Keeps the kernel's rules at what Services, EndpointSlices and the host ports of this node's pods say until the signal fires. The rules stay then, and so
 * does the traffic; `removeProxy` takes them away. The family is that of `clusterCidr`.
 */
export async function runProxy(deps: ProxyDeps, signal: AbortSignal): Promise<void> {
  const host = deps.host ?? thisHost;
  const family = deps.clusterCidr.includes(":") ? "ip6" : "ip";
  const kernel = family === "ip" ? await prepareKernel(host) : { changed: [], bridgeIsFiltered: false };
  const { bridgeIsFiltered, changed: changedSettings } = kernel;
  const proxy = new ServiceProxy({ ...deps, host }, { ...deps, family, bridgeIsFiltered, changedSettings });
  await using health = new HealthPorts(deps.healthAddress ?? "", deps.log);
  try {
    await proxy.run(health, signal);
  } catch (error) {
    if (!isAbort(error, signal)) throw error;
  } finally {
    proxy.stop();
  }
}

/** Takes away all that a proxy left in the kernel. There may be nothing. */
export async function removeProxy(tableName: string, host: Host = thisHost): Promise<void> {
  await restoreKernel(host, tableName);
  for (const family of ["ip", "ip6"]) {
    if (await hasTable(host, family, tableName)) await deleteTable(host, family, tableName);
  }
}

class ServiceProxy {
  readonly #deps: ProxyDeps & { readonly host: Host };
  readonly #config: RuleConfig;
  readonly #table: RuleTable;
  readonly #services;
  readonly #slices;
  readonly #plans = new Map<string, ServicePlan>();
  /** Services to look at again. */
  readonly #dirty = new Set<string>();
  /** By pod; only those that have any. */
  readonly #hostPorts = new Map<string, readonly HostPort[]>();
  /** Steps under way by service and trace; they end when the kernel has the rules. */
  readonly #spans = new Map<string, Span>();
  #applying: Span[] = [];
  #staleFlows: StaleFlow[] = [];
  #wake = Promise.withResolvers<void>();
  #checkIsDue = false;
  #zone = "";
  readonly #unsubscribe: (() => void)[] = [];

  constructor(deps: ProxyDeps & { readonly host: Host }, config: RuleConfig) {
    this.#deps = deps;
    this.#config = config;
    this.#table = new RuleTable(tableFrame(config));
    this.#services = deps.informers.of(Service);
    this.#slices = deps.informers.of(EndpointSlice);
  }

  async run(health: HealthPorts, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#deps;
    await this.#watch(signal);
    while (!signal.aborted) {
      try {
        await this.#checkTable();
        await this.#sync();
        health.update(this.#plans.values());
        await clock.sleep(pauseMs, signal);
      } catch (error) {
        if (isAbort(error, signal)) return;
        log.error("rules for services are not in place", { error });
        await clock.sleep(retryMs, signal);
        continue;
      }
      await this.#untilDirty(signal);
    }
  }

  stop(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const { informers, nodeName } = this.#deps;
    const node = informers.of(Node, { fieldSelector: `metadata.name=${nodeName}` });
    const pods = informers.of(Pod, { fieldSelector: `spec.nodeName=${nodeName}` });
    await informers.synced(signal);
    this.#unsubscribe.push(
      node.subscribe(({ type, object }) => {
        if (type === "put") this.#moveTo(object.metadata.labels?.[zoneLabel] ?? "");
      }),
      this.#services.subscribe(({ object: { metadata }, trace }) => {
        this.#touch(`${metadata.namespace}/${metadata.name}`, trace);
      }),
      this.#slices.subscribe((change) => {
        const { object, trace } = change;
        this.#touch(serviceOf(object), trace);
        // A slice may be given to another service.
        if (change.type === "put" && change.previous) this.#touch(serviceOf(change.previous), trace);
      }),
      pods.subscribe(({ type, object }) => this.#open(object, type === "put")),
    );
  }

  /** Which endpoints are near depends on the zone. */
  #moveTo(zone: string): void {
    if (zone === this.#zone) return;
    this.#zone = zone;
    for (const key of this.#plans.keys()) this.#touch(key, undefined);
  }

  /** Host ports lead to the pod for as long as it is there. */
  #open(pod: Pod, isThere: boolean): void {
    const key = `${pod.metadata.namespace}/${pod.metadata.name}`;
    const old = this.#hostPorts.get(key) ?? [];
    const ports = isThere ? planHostPorts(pod, this.#config.family) : [];
    if (equal(old, ports)) return;
    if (ports.length > 0) this.#hostPorts.set(key, ports);
    else this.#hostPorts.delete(key);
    this.#staleFlows.push(...planStaleHostFlows(old, ports));
    this.#table.set(`pod ${key}`, ports.length > 0 ? renderHostPorts(this.#config, key, ports) : undefined);
    this.#wake.resolve();
  }

  #touch(key: string | undefined, trace: string | undefined): void {
    if (!key) return;
    this.#dirty.add(key);
    this.#wake.resolve();
    const parent = parseTraceparent(trace);
    const { recorder } = this.#deps;
    if (!parent || !recorder || this.#spans.has(`${key} ${parent.traceId}`)) return;
    const [namespace = "", name = ""] = key.split("/");
    const object = { resource: "services", namespace, name };
    this.#spans.set(
      `${key} ${parent.traceId}`,
      recorder.startSpan({ hop: "serve", component: "proxy", object, parent }),
    );
  }

  /** Also ends when it is time to look whether the table is there. */
  async #untilDirty(signal: AbortSignal): Promise<void> {
    if (this.#dirty.size > 0 || this.#table.hasChanges) return;
    this.#wake = Promise.withResolvers();
    const cancel = this.#deps.clock.after(checkMs, () => {
      this.#checkIsDue = true;
      this.#wake.resolve();
    });
    try {
      await orAborted(this.#wake.promise, signal);
    } finally {
      cancel();
    }
  }

  async #checkTable(): Promise<void> {
    if (!this.#checkIsDue) return;
    this.#checkIsDue = false;
    const { family, tableName } = this.#config;
    if (await hasTable(this.#deps.host, family, tableName)) return;
    this.#deps.log.warn("rules for services were removed by somebody else", { table: tableName });
    this.#table.forget();
  }

  async #sync(): Promise<void> {
    this.#plan();
    const { host, log, clock } = this.#deps;
    const startMs = clock.now();
    const stale = this.#staleFlows;
    this.#staleFlows = [];
    const text = await applyRules(host, this.#table, log).catch((error: unknown) => {
      this.#staleFlows.push(...stale);
      throw error;
    });
    await clearFlows(host, stale, log);
    for (const span of this.#applying) span.end({ facts: { table: this.#config.tableName } });
    this.#applying = [];
    if (text) log.debug("rules applied", { lines: text.split("\n").length - 1, tookMs: clock.now() - startMs });
    this.#deps.onApplied?.();
  }

  /** Plans every service that may have changed. */
  #plan(): void {
    const changed = new Set<string>();
    for (const key of this.#dirty) {
      const old = this.#plans.get(key);
      const plan = this.#planOf(key);
      if (equal(old, plan)) continue;
      changed.add(key);
      this.#staleFlows.push(...planStaleFlows(old, plan));
      if (plan) this.#plans.set(key, plan);
      else this.#plans.delete(key);
      const { family, clusterCidr } = this.#config;
      this.#table.set(key, plan && renderService(family, clusterCidr, plan));
    }
    this.#dirty.clear();
    // A change that made no difference here is no step on anyone's way.
    for (const [id, span] of this.#spans) if (changed.has(id.split(" ")[0] ?? "")) this.#applying.push(span);
    this.#spans.clear();
  }

  #planOf(key: string): ServicePlan | undefined {
    const [namespace = "", name = ""] = key.split("/");
    const service = this.#services.get({ namespace, name });
    if (!service) return undefined;
    const family = this.#config.family === "ip" ? "IPv4" : "IPv6";
    const node: NodePlace = { name: this.#deps.nodeName, zone: this.#zone, family };
    return planService(service, this.#slices.by("service", key), node);
  }
}

function serviceOf({ metadata }: EndpointSlice): string | undefined {
  const name = metadata.labels?.[serviceNameLabel];
  return name ? `${metadata.namespace}/${name}` : undefined;
}
