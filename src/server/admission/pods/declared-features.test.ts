import assert from "node:assert/strict";
import { test } from "node:test";
import { Node } from "#api/core/node.ts";
import { type PodSpec } from "#api/core/pod/pod-spec.ts";
import { aPod } from "#api/core/pod/testing-pod.ts";
import { Pod } from "#api/core/pod.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import { requestFor } from "../admission.suite.ts";
import { createAdmission } from "../chain.ts";
import { declaredFeatures } from "./declared-features.ts";

const podLevel = "InPlacePodLevelResourcesVerticalScaling";
const init = "InPlacePodVerticalScalingInitContainers";
const informers = createFakeInformers();
const admission = createAdmission([declaredFeatures({ informers })]);
informers.put(Node, { metadata: { name: "able" }, spec: {}, status: { declaredFeatures: [podLevel, init] } });
informers.put(Node, { metadata: { name: "plain" }, spec: {}, status: {} });

const container = (cpu: string, restartPolicy?: string) => ({
  name: "first",
  image: "i",
  resources: { requests: { cpu } },
  ...(restartPolicy ? { restartPolicy } : {}),
});
type Sent = Partial<PodSpec>;
const update = (nodeName: string, before: object, after: object, generation = 2) => {
  const oldObject = aPod({ nodeName, ...before } as Sent, {}, { generation: 1 });
  const part = { operation: "UPDATE", subresource: "resize", oldObject } as const;
  return admission.validate(requestFor(Pod, aPod({ nodeName, ...after } as Sent, {}, { generation }), part));
};

const grown = [{ resources: { requests: { cpu: "1" } } }, { resources: { requests: { cpu: "2" } } }] as const;
const init1 = { initContainers: [container("1")] };
const init2 = { initContainers: [container("2")] };

test("a node that declares a feature gets the changes that need it", () => {
  assert.equal(update("able", ...grown), undefined);
  assert.equal(update("able", init1, init2), undefined);
});

test("a change that needs nothing is not checked, nor is one of a pod without a node", () => {
  assert.equal(update("plain", grown[0], grown[0]), undefined);
  assert.equal(update("gone", {}, {}), undefined);
  assert.equal(update("", ...grown), undefined);
  assert.equal(update("plain", ...grown, 1), undefined);
  const [one, two] = ["1", "2"].map((cpu) => ({ initContainers: [container(cpu, "Always")] }));
  assert.equal(update("plain", one ?? {}, two ?? {}), undefined);
});

const refused = [
  {
    node: "plain",
    change: grown,
    why: `pod update requires features ${podLevel} which are not available on node "plain"`,
  },
  {
    node: "plain",
    change: [
      { ...init1, ...grown[0] },
      { ...init2, ...grown[1] },
    ],
    why: `pod update requires features ${init}, ${podLevel} which are not available on node "plain"`,
  },
  { node: "gone", change: grown, why: 'node "gone" not found' },
] as const;
for (const { node, change, why } of refused) {
  test(`a change is refused: ${why}`, () => {
    assert.throws(() => update(node, change[0], change[1]), { code: 403, message: `pods "web" is forbidden: ${why}` });
  });
}
