import { Pod } from "#api/core/pod.ts";
import { Service } from "#api/core/service.ts";
import { EndpointSlice } from "#api/discovery/endpoint-slice.ts";
import { type InputOf } from "#api/resource.ts";
import { type EventRecorder } from "#client/events.ts";
import { systemClock } from "#lib/async/clock.ts";
import { jsonLog } from "#lib/process/log.ts";
import { type Host } from "#proxy/apply.ts";
import { TrafficGuard } from "#proxy/policy/traffic-guard.ts";
import { runProxy } from "#proxy/proxy.ts";
import { removeProxy } from "#proxy/remove-proxy.ts";
import { TraceRecorder } from "#trace/recorder.ts";
import { createFakeInformers, type FakeInformers } from "../fake-informers.ts";
import { type Place, type TestNetwork } from "./test-network.ts";

export const tableName = "orlop-test";
const serviceCidr = "10.92.0.0/24";
const log = jsonLog((line) => process.stderr.write(line), "error");

/** The node of a test network, as a machine for the proxy. */
export const hostOf = (node: Place): Host => ({
  run: node.run,
  eachLine: async (command, args, line) => {
    for (const text of (await node.run(command, args)).split("\n")) line(text);
  },
  addresses: async () => (await node.run("hostname", ["-I"])).trim().split(/\s+/),
  readSetting: async (path) => {
    const text = await node.run("sh", ["-c", `cat /proc/sys/${path} 2>/dev/null || true`]);
    return text.trim() || undefined;
  },
  writeSetting: async (path, value) => {
    await node.run("tee", [`/proc/sys/${path}`], value);
  },
});

/** A proxy on the node of a test network. */
export class RunningProxy {
  readonly network: TestNetwork;
  readonly informers: FakeInformers = createFakeInformers();
  readonly recorder = new TraceRecorder({ clock: systemClock });
  readonly host: Host;
  readonly guard = new TrafficGuard(systemClock);
  /** The events for users: kind, name, message. */
  readonly reported: string[] = [];
  readonly #stop = new AbortController();
  #applied = Promise.withResolvers<void>();
  #cleared = Promise.withResolvers<void>();
  #ended: Promise<void> = Promise.resolve();

  readonly #events: EventRecorder = {
    event: (about, _type, _reason, message) => {
      if ("name" in about) this.reported.push(`${about.kind} ${about.name}: ${message}`);
    },
    flush: async () => {},
    async [Symbol.asyncDispose]() {},
  };

  constructor(network: TestNetwork, host: Host = hostOf(network.node)) {
    this.network = network;
    this.host = host;
  }
  start(): Promise<void> {
    this.#ended = runProxy(
      {
        ...{ nodeName: "node-1", informers: this.informers, clock: systemClock, log, tableName },
        ...{ podCidr: this.network.podCidr, clusterCidr: this.network.podCidr, serviceCidr },
        podLinks: this.network.podLinks,
        recorder: this.recorder,
        events: this.#events,
        ownPorts: [6443],
        host: this.host,
        guard: this.guard,
        healthAddress: "127.0.0.1",
        onApplied: () => this.#applied.resolve(),
        onFlowsCleared: () => this.#cleared.resolve(),
      },
      this.#stop.signal,
    );
    return Promise.race([this.#ended, this.applied()]);
  }
  /** Resolves after the next transaction. */
  async applied(): Promise<void> {
    this.#applied = Promise.withResolvers();
    await this.#applied.promise;
  }
  /** Resolves when the next stale flows are cleared. */
  async cleared(): Promise<void> {
    this.#cleared = Promise.withResolvers();
    await this.#cleared.promise;
  }
  /** Adds a slice that leads a service's ports to the same numbers of one address. */
  putSlice(
    name: string,
    ports: readonly { name: string; port: number; protocol: "TCP" | "UDP" }[],
    address: string,
  ): void {
    this.informers.put(EndpointSlice, {
      metadata: { namespace: "default", name, labels: { "kubernetes.io/service-name": name } },
      addressType: "IPv4",
      ports: [...ports],
      endpoints: [{ addresses: [address], nodeName: "node-1", conditions: { ready: true } }],
    });
  }
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#ended;
    await removeProxy(tableName, this.host);
  }
}

interface Wanted extends Partial<Service["spec"]> {
  readonly name: string;
  readonly created?: string;
  /** Addresses of endpoints, and their nodes. */
  readonly endpoints: readonly { readonly address: string; readonly node?: string }[];
  readonly protocol?: "TCP" | "UDP";
  readonly port?: number;
  readonly targetPort?: number;
  readonly nodePort?: number;
  /** The addresses of its load balancer. */
  readonly balancerIPs?: readonly string[];
}

export async function putService(proxy: RunningProxy, wanted: Wanted, trace?: string): Promise<void> {
  const { name, created, endpoints, protocol = "TCP", port = 80, targetPort = 8080, nodePort, ...others } = wanted;
  const { balancerIPs = [], ...spec } = others;
  const service: InputOf<Service> = {
    metadata: { namespace: "default", name, ...(created ? { creationTimestamp: created } : {}) },
    spec: {
      type: "ClusterIP",
      sessionAffinity: "None",
      ports: [{ port, protocol, targetPort, ...(nodePort ? { nodePort } : {}) }],
      ...spec,
    },
    status: { loadBalancer: { ingress: balancerIPs.map((ip) => ({ ip, ipMode: "VIP" })) } },
  };
  const applied = protocol === "UDP" ? proxy.cleared() : proxy.applied();
  proxy.informers.put(Service, service, trace);
  proxy.informers.put(
    EndpointSlice,
    {
      metadata: { namespace: "default", name, labels: { "kubernetes.io/service-name": name } },
      addressType: "IPv4",
      ports: [{ name: "", protocol, port: targetPort }],
      endpoints: endpoints.map(({ address, node = "node-1" }) => ({
        addresses: [address],
        nodeName: node,
        conditions: { ready: true },
      })),
    },
    trace,
  );
  await applied;
}

interface WantedPod {
  readonly name: string;
  readonly address: string;
  readonly ports: readonly { containerPort: number; hostPort: number; hostIP?: string; protocol?: "UDP" }[];
  readonly phase?: "Running" | "Succeeded";
}

export async function putPod(
  proxy: RunningProxy,
  { name, address, ports, phase = "Running" }: WantedPod,
): Promise<void> {
  const applied = ports.some(({ protocol }) => protocol === "UDP") ? proxy.cleared() : proxy.applied();
  proxy.informers.put(Pod, {
    metadata: { namespace: "default", name },
    spec: { nodeName: "node-1", containers: [{ name: "main", image: "i", ports: [...ports] }] },
    status: { phase, podIP: address, podIPs: [{ ip: address }] },
  });
  await applied;
}
