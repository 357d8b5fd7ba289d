import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "#api/core/pod.ts";
import { seededRandom } from "#lib/random.ts";
import { startCluster } from "#testing/start-cluster.ts";
import { Kubelet } from "./kubelet.ts";
import { simulatedMachine } from "./machine.ts";
import { SimulatedRuntime, type SimulationHooks } from "./runtime/simulated.ts";

async function aCluster(hooks: SimulationHooks = {}) {
  const cluster = await startCluster({
    components: (deps) => {
      const random = seededRandom(7);
      const runtime = new SimulatedRuntime({ clock: deps.clock, random, podCidr: "10.244.0.0/24", hooks });
      const machine = simulatedMachine("node-1", "10.0.0.1");
      const kubelet = new Kubelet({ ...deps, nodeName: "node-1", runtime, machine, random });
      return [(signal) => kubelet.run(signal)];
    },
  });
  return cluster;
}

test("a pod runs and becomes ready", async () => {
  await using cluster = await aCluster();
  const spec = { containers: [{ name: "web", image: "nginx:1" }] };
  await cluster.settle();

  await cluster.apply(Pod, { metadata: { namespace: "default", name: "web" }, spec });
  await cluster.settle();

  const [pod] = await cluster.list(Pod);
  console.log(JSON.stringify(pod, null, 1));
  assert.equal(pod?.status.phase, "Running");
});
