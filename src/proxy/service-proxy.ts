import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { Service } from "#api/core/service.ts";
import { EndpointSlice } from "#api/discovery/endpoint-slice.ts";
import { NetworkPolicy } from "#api/networking/network-policy.ts";
import { serviceNameLabel, zoneLabel } from "#api/well-known.ts";
import { withDeadline } from "#lib/async/deadline.ts";
import { isAbort, neverAborted, orAborted } from "#lib/async/tasks.ts";
import { equal } from "#lib/data/equal.ts";
import { AddressClaims } from "./address-claims.ts";
import { applyRules, type Host, hasTable } from "./apply.ts";
import { FaultReporter } from "./fault-reporter.ts";
import { planStaleFlows, type StaleFlow } from "./flows/conntrack.ts";
import { type FlowClearer } from "./flows/flow-clearer.ts";
import { type HealthPorts } from "./health.ts";
import { hostPortFaults, type PodPorts, planHostPorts, planStaleHostFlows, renderHostPorts } from "./host-ports.ts";
import { MachinePorts } from "./machine/machine-ports.ts";
import { type RuleConfig, renderMachinePorts, renderNode, renderService, tableFrame } from "./nftables.ts";
import { planOwnEndpoint } from "./own-endpoint.ts";
import { parseAddresses } from "./parse-values.ts";
import { isGroupOwner, NetworkPolicies } from "./policy/network-policies.ts";
import { type ProxyDeps } from "./proxy.ts";
import { RefusedOwners } from "./refused-owners.ts";
import { type Fragment, RuleTable } from "./rule-table.ts";
import { ServeHops } from "./serve-hops.ts";
import { maxServicesSize, type NodePlace, planService, type ServicePlan, withoutRules } from "./service-map.ts";
import { SizeBudget } from "./size-budget.ts";

/**
 * The pause between transactions, so that a burst of changes becomes one. It is as long as the last transaction took: nft then
 * runs at most half of the time, and a small cluster does not wait for what only a large one needs.
 */
const [minPauseMs, maxPauseMs] = [10, 50];
/** How often to check whether the table still exists. */
const checkMs = 30_000;
const retryMs = 1_000;
/** If the rules cannot be applied, more stale flows than this are dropped. */
const maxStaleFlows = 10_000;
/** Planning yields after this time, so that other work can run. */
const planForMs = 20;

/** For the last change of the rules. */
const leaveMs = 2_000;

export interface OwnDeps extends ProxyDeps {
  readonly host: Host;
  readonly flows: FlowClearer;
  /** Turns on the kernel settings that the rules need. */
  turnOn(): Promise<void>;
}

/** The rules of one IP family. */
export class ServiceProxy {
  readonly #deps: OwnDeps;
  readonly #config: RuleConfig;
  readonly #table: RuleTable;
  readonly #services;
  readonly #slices;
  readonly #pods;
  readonly #plans = new Map<string, ServicePlan>();
  /** Services to plan again. */
  readonly #dirty = new Set<string>();
  readonly #budget = new SizeBudget(maxServicesSize);
  readonly #claims = new AddressClaims(this.#plans);
  readonly #faults: FaultReporter;
  readonly #refused = new RefusedOwners();
  readonly #policies: NetworkPolicies;
  #ownAddresses: ReadonlySet<string> = new Set();
  readonly #machinePorts = new MachinePorts();
  readonly #nodeAddresses = new Map<string, readonly string[]>();
  /** By pod; only pods with host ports. */
  readonly #hostPorts = new Map<string, PodPorts>();
  readonly #hops: ServeHops;
  #staleFlows: { readonly owner: string; readonly flows: readonly StaleFlow[] }[] = [];
  /** Resolved when the kernel has what was known when they were added. */
  #applied: (() => void)[] = [];
  #wake = Promise.withResolvers<void>();
  #checkedMs: number;
  #zone = "";
  #hasLeft = false;
  readonly #unsubscribe: (() => void)[] = [];

  constructor(deps: OwnDeps, config: RuleConfig) {
    this.#deps = deps;
    this.#hops = new ServeHops(deps.recorder);
    this.#faults = new FaultReporter(deps.events);
    this.#checkedMs = deps.clock.now();
    this.#config = config;
    this.#table = new RuleTable(tableFrame(config));
    this.#services = deps.informers.of(Service);
    this.#slices = deps.informers.of(EndpointSlice);
    this.#pods = deps.informers.of(Pod, { fieldSelector: `spec.nodeName=${deps.nodeName}` });
    this.#policies = new NetworkPolicies({
      ...{ ...deps, family: config.family, bridgeIsFiltered: config.bridgeIsFiltered },
      onChange: () => this.#wake.resolve(),
      report: (policy, faults) => this.#faults.report(NetworkPolicy, policy, faults),
    });
  }

  async run(health: HealthPorts, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#deps;
    this.#ownAddresses = new Set(await this.#deps.host.addresses());
    await this.#readMachinePorts();
    await this.#watch(signal);
    while (!signal.aborted) {
      try {
        await this.#check();
        const startMs = clock.now();
        await this.#sync(signal);
        const tookMs = clock.now() - startMs;
        health.update(this.#plans.values());
        await clock.sleep(Math.min(Math.max(tookMs, minPauseMs), maxPauseMs), signal);
      } catch (error) {
        if (isAbort(error, signal)) return;
        log.error("could not apply the rules for services", { error });
        await clock.sleep(retryMs, signal);
        continue;
      }
      await this.#untilDirty(signal);
    }
  }

  stop(): void {
    this.#policies.stop();
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
  }

  /** Leads the service of this node's own server to its other endpoints again. The next proxy may lead it back. */
  async leave(): Promise<void> {
    const { ownEndpoint, clock } = this.#deps;
    if (!ownEndpoint?.server || this.#plans.size === 0) return;
    ownEndpoint.onChange(() => undefined);
    this.#hasLeft = true;
    this.#touchAt(ownEndpoint.clusterIP);
    await withDeadline(leaveMs, { clock, signal: neverAborted }, async (limit) => {
      await this.#plan(limit);
      await this.#apply();
    });
  }

  /** The service that has this address. */
  #touchAt(clusterIP: string): void {
    for (const [key, { ports }] of this.#plans) {
      if (ports.some(({ clusterIPs }) => clusterIPs.includes(clusterIP))) this.#touch(key, undefined);
    }
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const { informers, nodeName } = this.#deps;
    const nodes = informers.of(Node);
    await informers.synced(signal);
    this.#policies.start();
    const { ownEndpoint } = this.#deps;
    ownEndpoint?.onChange(() => this.#touchAt(ownEndpoint.clusterIP));
    this.#unsubscribe.push(
      nodes.subscribe(({ type, object }) => {
        const { name, labels } = object.metadata;
        if (type === "put" && name === nodeName) this.#moveTo(labels?.[zoneLabel] ?? "");
        this.#noteNode(name, type === "put" ? (object.status?.addresses ?? []) : []);
      }),
      this.#services.subscribe(({ object: { metadata }, trace }) => {
        this.#touch(`${metadata.namespace}/${metadata.name}`, trace);
      }),
      this.#slices.subscribe((change) => {
        const { object, trace } = change;
        this.#touch(serviceOf(object), trace);
        // A slice may have moved to another service.
        if (change.type === "put" && change.previous) this.#touch(serviceOf(change.previous), trace);
      }),
      this.#pods.subscribe(({ type, object }) => this.#open(object, type === "put")),
    );
  }

  /** Addresses of nodes cannot be external addresses of services. */
  #noteNode(name: string, all: readonly { readonly address: string }[]): void {
    const family = this.#config.family === "ip" ? "IPv4" : "IPv6";
    const addresses = parseAddresses(
      all.map(({ address }) => address),
      family,
    );
    if (equal(addresses, this.#nodeAddresses.get(name) ?? [])) return;
    if (addresses.length > 0) this.#nodeAddresses.set(name, addresses);
    else this.#nodeAddresses.delete(name);
    this.#refused.forget(nodeOwner(name));
    this.#put(nodeOwner(name));
    this.#wake.resolve();
  }

  /** The zone decides which endpoints are near. */
  #moveTo(zone: string): void {
    if (zone === this.#zone) return;
    this.#zone = zone;
    for (const key of this.#plans.keys()) this.#touch(key, undefined);
  }

  /** Host ports lead to the pod while it exists. */
  #open(pod: Pod, isThere: boolean): void {
    const { namespace, name, creationTimestamp = "9999" } = pod.metadata;
    const key = `${namespace}/${name}`;
    const old = this.#hostPorts.get(key)?.ports ?? [];
    const ports = isThere ? planHostPorts(pod, this.#config.family) : [];
    const own = { addresses: this.#ownAddresses, ports: this.#config.ownPorts };
    if (ports.length > 0) this.#faults.report(Pod, pod, hostPortFaults(ports, own));
    if (equal(old, ports)) return;
    const rank = `${creationTimestamp} ${key}`;
    if (ports.length > 0) this.#hostPorts.set(key, { namespace, name, rank, ports });
    else this.#hostPorts.delete(key);
    this.#leave(podOwner(key), planStaleHostFlows(old, ports));
    this.#refused.forget(podOwner(key));
    this.#put(podOwner(key));
    this.#wake.resolve();
  }

  /** Flows to clear once the kernel has the new rules. */
  #leave(owner: string, flows: readonly StaleFlow[]): void {
    if (flows.length > 0 && this.#staleFlows.length < maxStaleFlows) this.#staleFlows.push({ owner, flows });
  }

  /** Updates an owner's fragment in the table. */
  #put(owner: string): void {
    this.#table.set(owner, this.#fragmentOf(owner));
  }

  #fragmentOf(owner: string): Fragment | undefined {
    const { family, clusterCidr } = this.#config;
    if (owner.startsWith(podOwner(""))) {
      const pod = this.#hostPorts.get(owner.slice(podOwner("").length));
      return pod && renderHostPorts(this.#config, pod);
    }
    if (isGroupOwner(owner)) return this.#policies.groupRules(owner);
    if (owner.startsWith(nodeOwner(""))) {
      const addresses = this.#nodeAddresses.get(owner.slice(nodeOwner("").length));
      return addresses && renderNode(addresses);
    }
    const plan = this.#plans.get(owner);
    return plan && renderService(family, clusterCidr, plan);
  }

  #touch(key: string | undefined, trace: string | undefined): void {
    if (!key) return;
    this.#dirty.add(key);
    this.#wake.resolve();
    this.#hops.begin(key, trace);
  }

  /** Also resolves when it is time to check the table. */
  async #untilDirty(signal: AbortSignal): Promise<void> {
    // Somebody may have asked during the last turn, which then had planned for them but did not answer them.
    if (this.#applied.length > 0) return;
    if (this.#dirty.size > 0 || this.#policies.hasChanges || this.#table.hasChanges) return;
    this.#wake = Promise.withResolvers();
    const cancel = this.#deps.clock.after(checkMs, () => this.#wake.resolve());
    try {
      await orAborted(this.#wake.promise, signal);
    } finally {
      cancel();
    }
  }

  /** Checks for changes without an event. */
  async #check(): Promise<void> {
    const { host, clock, log } = this.#deps;
    if (clock.now() - this.#checkedMs < checkMs) return;
    this.#checkedMs = clock.now();
    const { family, tableName } = this.#config;
    this.#ownAddresses = new Set(await host.addresses());
    await this.#readMachinePorts();
    for (const key of this.#budget.crowded) this.#touch(key, undefined);
    this.#policies.retryCrowded();
    for (const owner of this.#refused.takeDue(clock.now())) this.#put(owner);
    if (await hasTable(host, family, tableName)) return;
    log.warn("somebody else removed the rules for services", { table: tableName });
    this.#table.forget();
  }

  /** A load balancer's address may be the machine's, whose programs keep their ports. */
  async #readMachinePorts(): Promise<void> {
    if (!this.#machinePorts.update((await this.#deps.host.machinePorts?.()) ?? [])) return;
    this.#table.set("machine ports", renderMachinePorts(this.#machinePorts.all));
    for (const [key, { ports }] of this.#plans) if (ports[0]?.loadBalancerIPs.length) this.#reportFaults(key);
  }

  async #sync(signal: AbortSignal): Promise<void> {
    const applied = this.#applied;
    this.#applied = [];
    try {
      await this.#plan(signal);
      await this.#apply();
    } catch (error) {
      this.#applied.push(...applied);
      throw error;
    }
    for (const resolve of applied) resolve();
    this.#deps.guard?.answerBy(this.#config.family, (pod, addresses) => this.#restrict(pod, addresses));
    this.#deps.onApplied?.();
  }

  /** Resolves when a new pod can do no more than its policies allow. */
  async #restrict(pod: Pod, addresses: readonly string[]): Promise<void> {
    if (!this.#policies.expect(pod, addresses)) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#applied.push(resolve);
    this.#wake.resolve();
    await promise;
  }

  async #apply(): Promise<void> {
    const { host, log, clock, flows } = this.#deps;
    const startMs = clock.now();
    const instead = (owner: string) => (isGroupOwner(owner) ? this.#policies.isolate(owner) : undefined);
    const { text, refused, error } = await applyRules(host, this.#table, { log, instead });
    for (const owner of this.#refused.note(refused, clock.now())) this.#reportFaults(owner);
    if (error) throw error;
    await this.#deps.turnOn();
    // Before this, packets of a cleared flow would still find the old rules.
    for (const stale of this.#staleFlows.splice(0)) flows.add(stale.owner, stale.flows);
    this.#hops.applied(this.#config.tableName);
    if (text) log.debug("rules applied", { lines: text.split("\n").length - 1, tookMs: clock.now() - startMs });
  }

  /** Plans every service that may have changed. */
  async #plan(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    const changed = new Set<string>();
    let sinceMs = clock.now();
    const pause = async (): Promise<void> => {
      if (clock.now() - sinceMs < planForMs) return;
      await clock.sleep(0, signal);
      sinceMs = clock.now();
    };
    for (const key of this.#dirty) {
      this.#dirty.delete(key);
      if (this.#planOne(key)) changed.add(key);
      await pause();
    }
    await this.#policies.plan((owner, fragment) => this.#table.set(owner, fragment), pause);
    this.#hops.planned(changed);
  }

  /** Returns whether the service's rules have changed. */
  #planOne(key: string): boolean {
    const old = this.#plans.get(key);
    const wanted = this.#planOf(key);
    const plan = this.#budget.fits(key, wanted?.size ?? 0) ? wanted : wanted && withoutRules(wanted);
    if (equal(old, plan)) return false;
    this.#leave(key, planStaleFlows(old, plan));
    if (plan) this.#plans.set(key, plan);
    else this.#plans.delete(key);
    this.#refused.forget(key);
    this.#put(key);
    for (const other of this.#claims.update(key, old, plan)) this.#reportFaults(other);
    return true;
  }

  #reportFaults(owner: string): void {
    if (isGroupOwner(owner)) return;
    const complaint = this.#refused.complaintAbout(owner);
    const [resource, key] = owner.startsWith(podOwner("")) ? [Pod, owner.slice(podOwner("").length)] : [Service, owner];
    const [namespace = "", name = ""] = key.split("/");
    const object = resource === Pod ? this.#pods.get({ namespace, name }) : this.#services.get({ namespace, name });
    if (!object) return;
    const plan = this.#plans.get(owner);
    const { clusterCidr, serviceCidr } = this.#config;
    const nodes = new Set([...this.#ownAddresses, ...[...this.#nodeAddresses.values()].flat()]);
    const { clientPorts } = this.#config;
    const own = { addresses: this.#ownAddresses, ports: this.#machinePorts.all, clientPorts };
    const taken = { nodes, clusterCidr, serviceCidr, own };
    const faults = plan ? this.#claims.faultsOf(plan, taken) : [];
    if (complaint !== undefined) faults.push(`the kernel refuses its rules: ${complaint}`);
    this.#faults.report(resource, object, faults);
  }

  #planOf(key: string): ServicePlan | undefined {
    const [namespace = "", name = ""] = key.split("/");
    const service = this.#services.get({ namespace, name });
    if (!service) return undefined;
    const family = this.#config.family === "ip" ? "IPv4" : "IPv6";
    const node: NodePlace = { name: this.#deps.nodeName, zone: this.#zone, family };
    const plan = planService(service, this.#slices.by("service", key), node);
    return plan && planOwnEndpoint(plan, this.#hasLeft ? undefined : this.#deps.ownEndpoint);
  }
}

/** Owners in the table. No service's key has a space. */
const podOwner = (key: string): string => `pod ${key}`;
const nodeOwner = (name: string): string => `node ${name}`;

function serviceOf({ metadata }: EndpointSlice): string | undefined {
  const name = metadata.labels?.[serviceNameLabel];
  return name ? `${metadata.namespace}/${name}` : undefined;
}
