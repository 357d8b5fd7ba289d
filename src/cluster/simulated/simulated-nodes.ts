import type { Agent } from "node:http";
import { type Taint } from "#api/core/node.ts";
import { allContainers } from "#api/core/pod/pod-containers.ts";
import { Pod } from "#api/core/pod.ts";
import { ServiceAccount } from "#api/core/service-account.ts";
import { type UserInfo } from "#api/exchange.ts";
import { zoneLabel } from "#api/well-known.ts";
import { type Client } from "#client/client.ts";
import { insist } from "#kubelet/insist.ts";
import { Kubelet } from "#kubelet/kubelet.ts";
import { type Amounts, simulatedMachine } from "#kubelet/node/machine.ts";
import type { PodIdentity } from "#kubelet/runtime/runtime.ts";
import { SimulatedRuntime, type SimulatedState } from "#kubelet/runtime/simulated.ts";
import type { PodRule } from "#kubelet/runtime/simulation/behaviour.ts";
import { type SimulationDelays, type SimulationHooks } from "#kubelet/runtime/simulation.ts";
import { collectSimulatedStats } from "#kubelet/server/stats.ts";
import { createSimulatedHost, type SimulatedHostHooks } from "#kubelet/simulated-host.ts";
import { simulatedTokens } from "#kubelet/volumes/written/service-account-tokens.ts";
import { type Clock } from "#lib/async/clock.ts";
import { Restartable } from "#lib/async/restartable.ts";
import type { Task } from "#lib/async/tasks.ts";
import { type Random } from "#lib/data/random.ts";
import { formatIPv4 } from "#lib/net/ip.ts";
import { type Log } from "#lib/process/log.ts";
import { type Informers } from "#runtime/informer.ts";
import type { NodeReport } from "#server/usage/resource-metrics.ts";
import { type TraceRecorder } from "#trace/recorder.ts";
import { nodeUser } from "../identities.ts";
import { openKubelet, refusing } from "./local-nodes.ts";
import { createReport } from "./node-report.ts";
import { type PodRuleInput, podRulesOf } from "./pod-rules.ts";
import type { NewNode } from "./stages/create-node.ts";
import type { StageInput } from "./stages/read-stages.ts";

/** All of these have defaults. */
export interface SimulationOptions {
  readonly capacity?: Amounts;
  readonly labels?: (index: number) => Readonly<Record<string, string>>;
  /** The nodes are in these zones in turn, and have the labels that say so. */
  readonly zones?: readonly string[];
  readonly taints?: readonly Taint[];
  /** How long containerd's operations take; no time by default. */
  readonly delays?: Partial<SimulationDelays>;
  /** What the programs of pods do. The annotations of a pod come before these rules, and hooks before both. */
  readonly pods?: readonly PodRuleInput[];
  /** Lets a test decide what containers do. */
  readonly hooks?: SimulationHooks & SimulatedHostHooks;
  /** Stages of kwok, as objects or YAML: those of pods and nodes lead these instead of the kubelet. */
  readonly stages?: StageInput | readonly StageInput[];
}

export interface SimulatedNodeDeps {
  readonly informers: Informers;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: Random;
  readonly recorder?: TraceRecorder;
  /** What stages lead instead of the kubelet. */
  readonly staged?: { readonly pods: boolean; readonly nodes: boolean };
  /** A client as this node's own user. */
  clientFor(user: UserInfo): Client;
}

/** A kubelet without a machine: its pods exist only as state. */
export interface SimulatedNode {
  readonly name: string;
  /** Its containers, which outlive the kubelet. */
  readonly runtime: SimulatedRuntime;
  readonly isRunning: boolean;
  readonly labels: Readonly<Record<string, string>>;
  /** The address of the machine. */
  readonly address: string;
  /** Connects to the kubelet's server. */
  agent(): Promise<Agent>;
  /** What the kubelet says at `/metrics/resource`; rejects while the kubelet is stopped. */
  report(): Promise<NodeReport>;
  /** Calls back whenever the kubelet starts. Returns how to end this. */
  onStart(started: (name: string) => void): () => void;
  /** Stops the kubelet; its containers keep running. */
  stop(): Promise<void>;
  /** Starts the kubelet again, which takes over the containers it finds. */
  start(): void;
  /** Runs the kubelet, through all its stops and starts, until the signal. */
  run: Task;
}

/** `node-1`, `node-2` and so on, none of them running yet. */
export function createSimulatedNodes(
  count: number,
  deps: SimulatedNodeDeps,
  options: SimulationOptions = {},
  /** What runs on each at the beginning. */
  from: readonly SimulatedState[] = [],
): SimulatedNode[] {
  const rules = podRulesOf(options.pods ?? [], "pods");
  return Array.from({ length: count }, (_, index) => {
    return new Simulated(index, deps, { ...options, rules, from: from[index] });
  });
}

function labelsOf(index: number, { labels, zones = [] }: SimulationOptions): Readonly<Record<string, string>> {
  const zone = zones[index % zones.length];
  return { ...(zone ? { [zoneLabel]: zone } : {}), ...labels?.(index) };
}

const declares = (pod: Pod | undefined, port: number): boolean =>
  pod !== undefined && allContainers(pod.spec).some(({ ports }) => ports?.some((one) => one.containerPort === port));

/** Outside the range from which other nodes get their pod ranges. Fits 32,768 nodes of 253 pods. */
const podBase = 10 * 2 ** 24 + 128 * 2 ** 16;
const hostBase = 172 * 2 ** 24 + 16 * 2 ** 16;

class Simulated implements SimulatedNode {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly address: string;
  readonly runtime: SimulatedRuntime;
  readonly #createKubelet: () => Kubelet;
  readonly #life: Restartable;
  readonly #deps: SimulatedNodeDeps;
  /** What is created instead of what a kubelet registers. */
  readonly #newNode: NewNode | undefined;
  readonly #started = new Set<(name: string) => void>();
  #kubelet: Kubelet | undefined;
  #agent: Promise<Agent> | undefined;

  constructor(
    index: number,
    deps: SimulatedNodeDeps,
    options: SimulationOptions & { readonly rules: readonly PodRule[]; readonly from: SimulatedState | undefined },
  ) {
    const { clock, random, informers } = deps;
    const { hooks = {}, delays = {}, capacity, taints = [], rules, from } = options;
    const podCidr = `${formatIPv4(podBase + index * 256)}/24`;
    this.name = `node-${index + 1}`;
    this.labels = labelsOf(index, options);
    const declaresPort = (ref: PodIdentity, port: number) => declares(informers.of(Pod).get(ref), port);
    const programs = { clock, hooks, delays, rules, declaresPort };
    this.runtime = new SimulatedRuntime({ ...programs, random, podCidr, ...(from ? { from } : {}) });
    this.#deps = deps;
    this.#life = new Restartable(this.name, (signal) => this.#runKubelet(signal));
    const startedMs = clock.now();
    this.address = formatIPv4(hostBase + index + 1);
    const machine = simulatedMachine(this.name, this.address, capacity);
    const { name, labels } = this;
    const { staged = { pods: false, nodes: false } } = deps;
    if (staged.nodes) this.#newNode = { name, machine, labels, taints, podCidr };
    const accounts = informers.of(ServiceAccount);
    const host = createSimulatedHost({ clock, allocatable: machine.allocatable, hooks, rules });
    this.#createKubelet = () => {
      const kubelet: Kubelet = new Kubelet({
        ...deps,
        nodeName: this.name,
        client: deps.clientFor(nodeUser(this.name)),
        runtime: this.runtime,
        machine,
        host,
        tokens: simulatedTokens((ref) => accounts.get(ref) !== undefined),
        podCidrs: [podCidr],
        labels: this.labels,
        taints,
        runsPods: !staged.pods,
        reportsNode: !staged.nodes,
        stats: () =>
          collectSimulatedStats({
            ...{ nodeName: this.name, startedMs, clock, runtime: this.runtime },
            pods: () => kubelet.handle.pods(),
          }),
      });
      return kubelet;
    };
  }

  get isRunning(): boolean {
    return this.#life.isRunning;
  }

  async report(): Promise<NodeReport> {
    if (!this.#kubelet) throw new Error(`the kubelet of ${this.name} is stopped`);
    return createReport(this.runtime.used(), this.#deps.clock.now());
  }

  async agent(): Promise<Agent> {
    const kubelet = this.#kubelet;
    if (!kubelet) return refusing(`the kubelet of ${this.name} is stopped`);
    this.#agent ??= openKubelet(kubelet.handle, this.#deps, () => this.#kubelet === kubelet);
    return await this.#agent;
  }

  stop = (): Promise<void> => this.#life.stop();
  start = (): void => this.#life.start();
  run: Task = (signal) => this.#life.run(signal);

  async #runKubelet(signal: AbortSignal): Promise<void> {
    this.#kubelet = this.#createKubelet();
    if (this.#newNode) await this.#createNode(this.#newNode, signal);
    for (const started of this.#started) started(this.name);
    try {
      await this.#kubelet.run(signal);
    } finally {
      this.#kubelet = undefined;
      this.#agent = undefined;
    }
  }

  /** Calls back whenever the kubelet starts. Returns how to end this. */
  onStart(started: (name: string) => void): () => void {
    this.#started.add(started);
    return () => this.#started.delete(started);
  }

  async #createNode(node: NewNode, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#deps;
    const { createStagedNode } = await import("./stages/create-node.ts");
    const client = this.#deps.clientFor(nodeUser(this.name));
    await insist({ clock, log, signal }, "could not create the node", () => createStagedNode(client, node, signal));
  }
}
