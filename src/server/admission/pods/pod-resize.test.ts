import assert from "node:assert/strict";
import { test } from "node:test";
import { Node } from "#api/core/node.ts";
import { aPod } from "#api/core/pod/testing-pod.ts";
import { Pod } from "#api/core/pod.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import { requestFor } from "../admission.suite.ts";
import { createAdmission } from "../chain.ts";
import { podResize } from "./pod-resize.ts";

const informers = createFakeInformers();
const admission = createAdmission([podResize({ informers })]);
const status = { allocatable: { cpu: "2", memory: "1Gi" } };
informers.put(Node, { metadata: { name: "n", labels: { "kubernetes.io/os": "linux" } }, spec: {}, status });
informers.put(Node, { metadata: { name: "w", labels: { "kubernetes.io/os": "windows" } }, spec: {}, status });

const podOn = (nodeName: string, requests: Record<string, string>, generation: number) =>
  aPod({ nodeName }, { resources: { requests } }, { generation });

/** Asks for these resources on a node. */
const resize = (nodeName: string, requests: Record<string, string>, generation = 2) => {
  const oldObject = podOn(nodeName, { cpu: "1" }, 1);
  const part = { operation: "UPDATE", subresource: "resize", oldObject } as const;
  return admission.validate(requestFor(Pod, podOn(nodeName, requests, generation), part));
};

test("a pod may grow to what its node can give, and as it likes before it has a node", () => {
  assert.equal(resize("n", { cpu: "2000m", memory: "1024Mi" }), undefined);
  assert.equal(resize("", { cpu: "99" }), undefined);
});

test("a change that does not concern the spec is not checked", () => {
  assert.equal(resize("n", { cpu: "99" }, 1), undefined);
});

const why =
  "node didn't have enough allocatable resources: cpu, requested: 2500, allocatable: 2000; memory, requested: 2147483648, allocatable: 1073741824";
const refused = [
  { node: "n", causes: [{ reason: "NodeCapacity" }], why },
  {
    node: "w",
    causes: [{ reason: "UnsupportedPlatform" }],
    why: 'pod resize is only supported on linux nodes, node "w" is "windows"',
  },
  { node: "gone", causes: undefined, why: 'node "gone" not found' },
];
for (const { node, causes, why } of refused) {
  test(`a resize is refused: ${why}`, () => {
    const details = { name: "web", kind: "pods", ...(causes ? { causes } : {}) };
    const error = { code: 403, message: `pods "web" is forbidden: ${why}`, details };
    assert.throws(() => resize(node, { cpu: "2500m", memory: "2Gi" }), error);
  });
}
