import assert from "node:assert/strict";
import { test } from "node:test";
import { DeviceClass } from "#api/devices/device-class.ts";
import { build } from "#testing/build.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import { asking, makePod } from "#testing/scheduling.ts";
import { classesOf, resourcesFromClasses } from "./class-for.ts";

const gpu = "example.com/gpu";

function setUp(...classes: [name: string, createdAt: string, resource?: string][]) {
  const informers = createFakeInformers();
  for (const [name, creationTimestamp, extendedResourceName] of classes) {
    const spec = extendedResourceName ? { extendedResourceName } : {};
    informers.put(DeviceClass, build(DeviceClass, { metadata: { name, creationTimestamp }, spec }));
  }
  return { informers, classFor: classesOf(informers) };
}

const [early, late] = ["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"];

test("of several classes for a resource the newest counts, and among equals the first by name", () => {
  const { informers, classFor } = setUp(["a", early, gpu], ["c", late, gpu], ["b", late, gpu]);
  assert.equal(classFor(gpu)?.metadata.name, "b");

  informers.delete(DeviceClass, { name: "b" });
  informers.delete(DeviceClass, { name: "c" });
  assert.equal(classFor(gpu)?.metadata.name, "a");

  informers.delete(DeviceClass, { name: "a" });
  assert.equal(classFor(gpu), undefined);
});

test("every class stands behind the resource with its own name", () => {
  const { classFor } = setUp(["a", early]);

  assert.equal(classFor("deviceclass.resource.kubernetes.io/a")?.metadata.name, "a");
  assert.equal(classFor("deviceclass.resource.kubernetes.io/b"), undefined);
  assert.equal(classFor("cpu"), undefined);
  assert.equal(classFor("hugepages-2Mi"), undefined);
});

test("only resources that are asked for come from classes", () => {
  const { classFor } = setUp(["a", early, gpu], ["b", early, "example.com/nic"]);
  const requests = { cpu: "1", [gpu]: "0", "example.com/nic": "1", "example.com/disk": "1" };

  assert.deepEqual(resourcesFromClasses(makePod("p", { containers: [asking(requests)] }), classFor), [
    "example.com/nic",
  ]);
  assert.deepEqual(resourcesFromClasses(makePod("q"), classFor), []);
});
