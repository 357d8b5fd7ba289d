import assert from "node:assert/strict";
import { test } from "node:test";
import { allResources } from "#api/all.ts";
import { APIService } from "#api/apiregistration/api-service.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import { ApiOrder, builtInPriority } from "./api-order.ts";

const service = (group: string, version: string, groupPriorityMinimum: number, versionPriority: number) => ({
  metadata: { name: `${version}.${group}` },
  spec: { group, version, groupPriorityMinimum, versionPriority },
});

test("groups are in upstream's order, and registration comes first", () => {
  const order = new ApiOrder(createFakeInformers().of(APIService));
  const names = order.sorted(allResources).map(({ name }) => name);

  assert.deepEqual(names.slice(0, 4), ["apiregistration.k8s.io", "", "apps", "events.k8s.io"]);
  assert(names.indexOf("admissionregistration.k8s.io") < names.indexOf("apiextensions.k8s.io"));
});

test("every built-in group of upstream has a priority", () => {
  const without = allResources.filter(({ group, version }) => builtInPriority(group, version) === undefined);

  const unknown = ["apiregistration.k8s.io", "metrics.k8s.io"];
  assert.deepEqual(
    [...new Set(without.map(({ group }) => group))].filter((group) => !unknown.includes(group)),
    [],
  );
});

test("APIServices decide the order of groups and versions, and later ones of the same priority follow by name", () => {
  const informers = createFakeInformers();
  const order = new ApiOrder(informers.of(APIService));
  const served = ["v1", "v2", "v1beta1"].flatMap((version) => [
    { group: "b.example.com", version },
    { group: "a.example.com", version },
  ]);
  const before = order.sorted(served);
  const generation = order.generation;
  informers.put(APIService, service("b.example.com", "v1", 2000, 100));
  informers.put(APIService, service("b.example.com", "v1beta1", 1500, 200));

  assert.deepEqual(before, [
    { name: "a.example.com", versions: ["v2", "v1", "v1beta1"] },
    { name: "b.example.com", versions: ["v2", "v1", "v1beta1"] },
  ]);
  assert.deepEqual(order.sorted(served), [
    { name: "b.example.com", versions: ["v1beta1", "v2", "v1"] },
    { name: "a.example.com", versions: ["v2", "v1", "v1beta1"] },
  ]);
  assert.notEqual(order.generation, generation);
  informers.delete(APIService, { name: "v1.b.example.com" });
  assert.equal(order.sorted(served)[0]?.name, "b.example.com", "its other version still has 1500");
});
