import { Event } from "#api/core/event.ts";
import { Pod } from "#api/core/pod.ts";
import type { InputOf } from "#api/resource.ts";
import { Kubelet } from "#kubelet/kubelet.ts";
import type { KubeletOptions } from "#kubelet/kubelet-options.ts";
import { simulatedMachine } from "#kubelet/node/machine.ts";
import { SimulatedRuntime } from "#kubelet/runtime/simulated.ts";
import { type SimulationDelays, type SimulationHooks } from "#kubelet/runtime/simulation.ts";
import { createSimulatedHost, type SimulatedHostHooks } from "#kubelet/simulated-host.ts";
import { seededRandom } from "#lib/data/random.ts";
import { silentLog } from "#lib/process/log.ts";
import { startCluster, type TestCluster } from "./start-cluster.ts";

/** A cluster on virtual time with one simulated node. */
export interface SimulatedNode extends AsyncDisposable {
  readonly cluster: TestCluster;
  readonly runtime: SimulatedRuntime;
  readonly kubelet: Kubelet;
  restartKubelet(): Promise<void>;
  create(name: string, spec: InputOf<Pod>["spec"], annotations?: Record<string, string>): Promise<Pod>;
  get(name: string): Promise<Pod>;
  reasons(name: string): Promise<string[]>;
}

export async function startSimulatedNode(
  hooks: SimulationHooks & SimulatedHostHooks = {},
  more: Partial<KubeletOptions> = {},
  delays: Partial<SimulationDelays> = {},
): Promise<SimulatedNode> {
  const cluster = await startCluster();
  const random = seededRandom(7);
  const { clock, api } = cluster;
  const runtime = new SimulatedRuntime({ clock, random, podCidr: "10.244.0.0/24", hooks, delays });
  const start = () => {
    const stop = new AbortController();
    const machine = simulatedMachine("node-1", "10.0.0.1");
    const client = cluster.clientFor({ name: "system:node:node-1", groups: ["system:nodes", "system:authenticated"] });
    const { informers, recorder } = api;
    const log = silentLog;
    const host = createSimulatedHost({ clock, allocatable: machine.allocatable, hooks });
    const base = { client, informers, recorder, clock, log, nodeName: "node-1", runtime, machine, host, random };
    const kubelet = new Kubelet({ ...base, ...more });
    const ended = kubelet.run(stop.signal);
    return {
      kubelet,
      async stop() {
        stop.abort(new Error("the node ends"));
        await ended;
      },
    };
  };
  let running = start();
  await cluster.settle();
  const { client } = cluster;
  return {
    cluster,
    runtime,
    get kubelet() {
      return running.kubelet;
    },
    async restartKubelet() {
      await running.stop();
      running = start();
    },
    create: (name, spec, annotations = {}) =>
      client.create(Pod, { metadata: { namespace: "default", name, annotations }, spec: spec ?? {} }),
    get: (name) => client.get(Pod, { namespace: "default", name }),
    async reasons(name) {
      const events = await cluster.list(Event, "default");
      const own = events.filter(({ involvedObject }) => involvedObject.name === name);
      return own.map(({ reason }) => reason ?? "");
    },
    async [Symbol.asyncDispose]() {
      await running.stop();
      await cluster[Symbol.asyncDispose]();
    },
  };
}
