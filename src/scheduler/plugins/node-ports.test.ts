import assert from "node:assert/strict";
import { test } from "node:test";
import { judge, makeNode, makePod, snapshotOf } from "#testing/scheduling.ts";
import { nodePorts } from "./node-ports.ts";

interface Port {
  hostPort: number;
  hostIP?: string;
  protocol?: "TCP" | "UDP" | "SCTP";
}
const withPorts = (name: string, ports: readonly Port[], nodeName?: string) =>
  makePod(name, {
    ...(nodeName ? { nodeName } : {}),
    containers: [{ name: "main", image: "web:1", ports: ports.map((port) => ({ containerPort: 80, ...port })) }],
  });
const refusal = { reasons: ["node(s) didn't have free ports for the requested pod ports"], isFinal: false };

const cases: { name: string; wanted: Port[]; used: Port[]; fits: boolean }[] = [
  { name: "accepts pods without host ports", wanted: [], used: [{ hostPort: 80 }], fits: true },
  { name: "accepts another port", wanted: [{ hostPort: 81 }], used: [{ hostPort: 80 }], fits: true },
  { name: "refuses the same port", wanted: [{ hostPort: 80 }], used: [{ hostPort: 80 }], fits: false },
  {
    name: "accepts the same port of another protocol",
    wanted: [{ hostPort: 80, protocol: "UDP" }],
    used: [{ hostPort: 80 }],
    fits: true,
  },
  {
    name: "accepts the same port of another address",
    wanted: [{ hostPort: 80, hostIP: "10.0.0.1" }],
    used: [{ hostPort: 80, hostIP: "10.0.0.2" }],
    fits: true,
  },
  {
    name: "refuses an address when all are taken",
    wanted: [{ hostPort: 80, hostIP: "10.0.0.1" }],
    used: [{ hostPort: 80, hostIP: "0.0.0.0" }],
    fits: false,
  },
  {
    name: "refuses all addresses when one is taken",
    wanted: [{ hostPort: 80 }],
    used: [{ hostPort: 80, hostIP: "10.0.0.1" }],
    fits: false,
  },
  { name: "does not confuse 180 with 80", wanted: [{ hostPort: 80 }], used: [{ hostPort: 180 }], fits: true },
];
for (const { name, wanted, used, fits } of cases) {
  test(`NodePorts ${name}`, () => {
    const snapshot = snapshotOf([makeNode("a")], [withPorts("there", used, "a")]);

    assert.deepEqual(judge(nodePorts, withPorts("p", wanted), snapshot, "a"), fits ? undefined : refusal);
  });
}

test("NodePorts counts the ports of sidecars, not those of init containers that end", () => {
  const init = (restartPolicy?: "Always") =>
    makePod("there", {
      nodeName: "a",
      initContainers: [
        {
          name: "init",
          image: "web:1",
          ports: [{ containerPort: 80, hostPort: 80 }],
          ...(restartPolicy ? { restartPolicy } : {}),
        },
      ],
    });
  const wanted = withPorts("p", [{ hostPort: 80 }]);

  assert.equal(judge(nodePorts, wanted, snapshotOf([makeNode("a")], [init()]), "a"), undefined);
  assert.deepEqual(judge(nodePorts, wanted, snapshotOf([makeNode("a")], [init("Always")]), "a"), refusal);
});

test("NodePorts waits for a pod that had one of the ports, or a new node", () => {
  const pod = withPorts("p", [{ hostPort: 80 }]);
  const left = (port: Port, change: "deleted" | "updated" = "deleted") =>
    nodePorts.retryOn?.pod?.(pod, {
      kind: "Pod",
      change,
      object: withPorts("x", [port], "a"),
      info: undefined,
      freesRoom: true,
    });
  const node = { kind: "Node", object: makeNode("a"), previous: undefined, info: undefined } as const;

  assert.equal(left({ hostPort: 80, hostIP: "10.0.0.1" }), true);
  assert.equal(left({ hostPort: 81 }), false);
  assert.equal(left({ hostPort: 80 }, "updated"), false);
  assert.equal(nodePorts.retryOn?.node?.(pod, { ...node, change: "created" }), true);
  assert.equal(nodePorts.retryOn?.node?.(pod, { ...node, change: "updated" }), false);
});
