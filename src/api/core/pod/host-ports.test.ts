import assert from "node:assert/strict";
import { test } from "node:test";
import { hostPorts, isAnyPortTaken } from "./host-ports.ts";
import { aPod } from "./testing-pod.ts";

test("hostPorts() lists what a pod takes for as long as it runs", () => {
  const takes = (hostPort: number) => [{ containerPort: 80, hostPort }];
  const step = { name: "step", image: "step:1", ports: takes(7000) };
  const sidecar = { name: "sidecar", image: "sidecar:1", restartPolicy: "Always", ports: takes(8000) };
  const ports = [{ containerPort: 80, hostPort: 9000, hostIP: "10.0.0.1", protocol: "UDP" }, { containerPort: 81 }];

  assert.deepEqual(hostPorts(aPod({ initContainers: [step, sidecar] }, { ports })), [
    "UDP 10.0.0.1 9000",
    "TCP 0.0.0.0 8000",
  ]);
});

const cases = [
  { wanted: "TCP 0.0.0.0 80", used: ["TCP 0.0.0.0 80"], taken: true },
  { wanted: "TCP 0.0.0.0 80", used: ["TCP 10.0.0.1 80"], taken: true },
  { wanted: "TCP 10.0.0.1 80", used: ["TCP 0.0.0.0 80"], taken: true },
  { wanted: "TCP 10.0.0.1 80", used: ["TCP 10.0.0.2 80"], taken: false },
  { wanted: "TCP 0.0.0.0 80", used: ["UDP 0.0.0.0 80"], taken: false },
  { wanted: "TCP 0.0.0.0 80", used: ["TCP 0.0.0.0 8080"], taken: false },
];

for (const { wanted, used, taken } of cases) {
  test(`isAnyPortTaken() says ${taken} for ${wanted} beside ${used}`, () => {
    assert.equal(isAnyPortTaken([wanted], new Set(used)), taken);
  });
}

test("isAnyPortTaken() walks the used ports once, however many are wanted", () => {
  let walks = 0;
  const keys = (): string[] => {
    walks++;
    return ["TCP 10.0.0.1 1"];
  };

  const isTaken = isAnyPortTaken(["TCP 0.0.0.0 80", "TCP 0.0.0.0 81", "UDP 0.0.0.0 1"], { has: () => false, keys });

  assert.deepEqual([isTaken, walks], [false, 1]);
});
