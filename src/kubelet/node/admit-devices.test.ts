import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "#api/core/pod.ts";
import { build } from "#testing/build.ts";
import { deviceRequest, podDeviceRequest } from "./admit-devices.ts";

test("a device plugin is not asked for what a claim provides to the container", () => {
  const limits = { "example.com/gpu": "1", "example.com/nic": "2", cpu: "1" };
  const containers = ["main", "other"].map((name) => ({ name, image: "a:1", resources: { limits } }));
  const requestMappings = [{ containerName: "main", resourceName: "example.com/gpu", requestName: "r" }];
  const status = { extendedResourceClaimStatus: { resourceClaimName: "c", requestMappings } };
  const pod = build(Pod, { metadata: { name: "p" }, spec: { containers }, status });

  const asked = pod.spec.containers.map((container) => deviceRequest(pod, container).resources);

  assert.deepEqual(asked, [{ "example.com/nic": 2 }, { "example.com/gpu": 1, "example.com/nic": 2 }]);
  assert.deepEqual(podDeviceRequest(pod).resources, { "example.com/nic": 4 });
});
