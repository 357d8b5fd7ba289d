import assert from "node:assert/strict";
import { test } from "node:test";
import { aPod } from "#api/core/pod/testing-pod.ts";
import { Pod } from "#api/core/pod.ts";
import { requestFor } from "../admission.suite.ts";
import { createAdmission } from "../chain.ts";
import { type AdmissionRequest } from "../plugin.ts";
import { alwaysPullImages } from "./always-pull-images.ts";

const admission = createAdmission([alwaysPullImages]);
const withPolicy = { imagePullPolicy: "Never" };
const parts = {
  initContainers: [{ name: "i", image: "i:1", ...withPolicy }],
  volumes: [{ name: "v", image: { reference: "v:1", pullPolicy: "Never" } }],
};

const policiesOf = ({ spec }: Pod) => [
  ...[...spec.containers, ...(spec.initContainers ?? [])].map(({ imagePullPolicy }) => imagePullPolicy),
  ...(spec.volumes ?? []).map(({ image }) => image?.pullPolicy),
];

function mutated(pod: Pod, part: Partial<AdmissionRequest> = {}) {
  void admission.mutate(requestFor(Pod, pod, part));
  return policiesOf(pod);
}

test("every image of a new pod is pulled, also that of a volume", () => {
  assert.deepEqual(mutated(aPod(parts, withPolicy)), ["Always", "Always", "Always"]);
});

test("a change that brings no new image keeps the policies", () => {
  const part = { operation: "UPDATE", oldObject: aPod(parts, withPolicy) } as const;
  assert.deepEqual(mutated(aPod(parts, withPolicy), part), ["Never", "Never", "Never"]);
  assert.deepEqual(mutated(aPod(parts, { ...withPolicy, image: "b:2" }), part), ["Always", "Always", "Always"]);
});

test("a policy that was changed afterwards is refused", () => {
  const refused = (pod: Pod) => assert.throws.bind(undefined, () => admission.validate(requestFor(Pod, pod)));
  const pulled = { imagePullPolicy: "Always" };
  refused(aPod({}, withPolicy))({
    code: 403,
    message:
      'pods "web" is forbidden: spec.containers[0].imagePullPolicy: Unsupported value: "Never": supported values: "Always"',
  });
  refused(aPod({ volumes: parts.volumes }, pulled))({
    message:
      'pods "web" is forbidden: spec.volumes[0].image.pullPolicy: Unsupported value: "Never": supported values: "Always"',
  });
  assert.equal(admission.validate(requestFor(Pod, aPod({}, pulled))), undefined);
});
