import assert from "node:assert/strict";
import { test } from "node:test";
import { renderOutgoing } from "./machine-links.ts";
import { planMachines } from "./plan-machines.ts";

const options = { dataDir: "/data", nodeName: "demo", nodeCidr: "10.245.0.0/24", clusterCidr: "10.244.0.0/16" };

test("planMachines() gives each further node its own name, address, directory, link and namespace", () => {
  const { gateway, bridge, machines } = planMachines({ ...options, count: 3 });

  assert.equal(gateway, "10.245.0.1");
  assert.deepEqual(
    machines.map(({ nodeName, dataDir, address }) => [nodeName, dataDir, address]),
    [
      ["demo-2", "/data/nodes/demo-2", "10.245.0.2"],
      ["demo-3", "/data/nodes/demo-3", "10.245.0.3"],
    ],
  );
  const links = [bridge, ...machines.map(({ uplink }) => uplink)];
  assert.equal(new Set(links).size, 3);
  assert(links.every((name) => name.length <= 15));
  assert.equal(new Set(machines.map(({ namespace }) => namespace)).size, 2);
});

test("planMachines() has none for one node", () => {
  assert.deepEqual(planMachines({ ...options, count: 1 }).machines, []);
});

test("renderOutgoing() hides only what leaves the machine", () => {
  const text = renderOutgoing(planMachines({ ...options, count: 2 }));

  assert.match(text, /ip saddr 10\.245\.0\.0\/24 ip daddr != \{ 10\.245\.0\.0\/24, 10\.244\.0\.0\/16 \}/);
});
