import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "#api/core/pod.ts";
import { DeviceClass } from "#api/devices/device-class.ts";
import { extendedClaimAnnotation, ResourceClaim } from "#api/devices/resource-claim.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import { asking, makePod } from "#testing/scheduling.ts";
import { classesOf } from "./class-for.ts";
import { extendedWantsOf } from "./extended-wants.ts";

test("a claim is left of an earlier attempt only in the namespace of its pod", () => {
  const informers = createFakeInformers();
  informers.put(DeviceClass, { metadata: { name: "gpu" }, spec: { extendedResourceName: "example.com/gpu" } });
  const pod = informers.put(Pod, makePod("web", { containers: [asking({ "example.com/gpu": "1" })] }));
  const claimIn = (namespace: string) => {
    const owner = { apiVersion: "v1", kind: "Pod", name: "web", uid: pod.metadata.uid, controller: true };
    const annotations = { [extendedClaimAnnotation]: "true" };
    const metadata = { name: `of-${namespace}`, namespace, annotations, ownerReferences: [owner] };
    informers.put(ResourceClaim, { metadata, spec: { devices: {} } });
  };
  const stale = () => extendedWantsOf(informers, classesOf(informers), pod)?.stale?.metadata.name;

  claimIn("evil");
  assert.equal(stale(), undefined);
  claimIn(pod.metadata.namespace);
  assert.equal(stale(), `of-${pod.metadata.namespace}`);
});
