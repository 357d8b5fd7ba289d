import assert from "node:assert/strict";
import { test } from "node:test";
import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { podWith, requestFor, setUp } from "../admission.suite.ts";
import { type AdmissionRequest } from "../plugin.ts";

const zone = "topology.kubernetes.io/zone";
const region = "topology.kubernetes.io/region";

async function labelsOf(nodeName: string, part: Partial<AdmissionRequest> = {}) {
  const { informers, admit } = setUp();
  informers.put(Node, { metadata: { name: "n", labels: { [zone]: "z1", [region]: "r1", other: "x" } }, spec: {} });
  const pod = podWith({ nodeName }, { labels: { app: "web", [zone]: "wrong" } });
  await admit(requestFor(Pod, pod, part));
  return pod.metadata?.labels;
}
const labelled = { app: "web", [zone]: "z1", [region]: "r1" };
const unlabelled = { app: "web", [zone]: "wrong" };

test("a pod on a node gets the labels of its zone and region", async () => {
  assert.deepEqual(await labelsOf("n"), labelled);
  assert.deepEqual(await labelsOf("n", { operation: "UPDATE", subresource: "binding" }), labelled);
});

test("a pod without a known node, and a later change, keep the labels that are there", async () => {
  assert.deepEqual(await labelsOf(""), unlabelled);
  assert.deepEqual(await labelsOf("a"), unlabelled);
  assert.deepEqual(await labelsOf("gone"), unlabelled);
  assert.deepEqual(await labelsOf("n", { operation: "UPDATE" }), unlabelled);
});
