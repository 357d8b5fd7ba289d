import assert from "node:assert/strict";
import { test } from "node:test";
import { allResources } from "#api/all.ts";
import { HorizontalPodAutoscaler } from "#api/autoscaling/horizontal-pod-autoscaler.ts";
import { autoscalersV1 } from "#api/autoscaling/horizontal-pod-autoscaler-v1.ts";
import { decode } from "#schema/json/decode.ts";
import { ResourceRegistry } from "./registry.ts";

const sent = {
  apiVersion: "autoscaling/v1",
  kind: "HorizontalPodAutoscaler",
  metadata: { name: "web", namespace: "default" },
  spec: { scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" }, maxReplicas: 5 },
};
const older = decode(autoscalersV1.schema, sent, { defaults: true }).value;
const registry = new ResourceRegistry(allResources);

test("the registry converts objects to other versions of their kind", async () => {
  const newer = await registry.convert(autoscalersV1, older, "autoscaling/v2");
  const again = await registry.convert(HorizontalPodAutoscaler, newer?.object ?? older, "autoscaling/v1");

  assert.equal(newer?.resource, HorizontalPodAutoscaler);
  assert.equal(newer.object.apiVersion, "autoscaling/v2");
  assert.equal(again?.resource, autoscalersV1);
  assert.deepEqual((again.object as typeof older).spec, { ...older.spec, targetCPUUtilizationPercentage: 80 });
});

for (const apiVersion of ["autoscaling/v3", "v1", "apps/v1", "", "/", "a/b/c"]) {
  test(`the registry does not convert an autoscaler to ${JSON.stringify(apiVersion)}`, () =>
    assert.equal(registry.convert(autoscalersV1, older, apiVersion), undefined));
}

test("a hidden group and version is served by somebody else until it is shown again", () => {
  const own = new ResourceRegistry(allResources);
  let changes = 0;
  own.subscribe(() => changes++);
  own.hide("autoscaling/v1");
  own.hide("autoscaling/v1");
  const before = own.find("autoscaling", "v1", "horizontalpodautoscalers");
  own.add(autoscalersV1);

  assert.deepEqual([before, own.ofGroupVersion("autoscaling/v1"), changes], [undefined, [], 1]);
  assert(own.all().includes(HorizontalPodAutoscaler) && !own.all().includes(autoscalersV1));
  own.show("autoscaling/v1");
  assert.equal(own.find("autoscaling", "v1", "horizontalpodautoscalers"), autoscalersV1);
  own.hide("autoscaling/v1");
  own.remove(autoscalersV1);
  own.show("autoscaling/v1");
  assert.equal(own.find("autoscaling", "v1", "horizontalpodautoscalers"), undefined);
});
