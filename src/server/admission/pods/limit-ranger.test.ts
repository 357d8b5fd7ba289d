import assert from "node:assert/strict";
import { test } from "node:test";
import { LimitRange } from "#api/core/limit-range.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { Pod } from "#api/core/pod.ts";
import { type InputOf } from "#api/resource.ts";
import { admitPod, podWith, requestFor, setUp } from "../admission.suite.ts";

type Limits = NonNullable<InputOf<LimitRange>["spec"]>["limits"];
type Containers = NonNullable<NonNullable<InputOf<Pod>["spec"]>["containers"]>;
type Resources = NonNullable<Containers[number]["resources"]>;

function limited(...limits: NonNullable<Limits>) {
  const set = setUp();
  set.informers.put(LimitRange, { metadata: { name: "limits", namespace: "shop" }, spec: { limits } });
  set.informers.put(LimitRange, {
    metadata: { name: "limits", namespace: "elsewhere" },
    spec: { limits: [{ type: "Pod", max: { cpu: "1m" } }] },
  });
  return set;
}
const pod = (resources: Resources, more: InputOf<Pod>["spec"] = {}) =>
  podWith({ containers: [{ name: "c", resources }], ...more });

test("a container gets the defaults of its namespace, and an annotation says so", async () => {
  const set = limited({ type: "Container", default: { cpu: "2", memory: "1Gi" }, defaultRequest: { cpu: "1" } });
  const sent = pod(
    { limits: { memory: "2Gi" } },
    { initContainers: [{ name: "i", resources: { limits: { cpu: "3" } } }] },
  );

  const { containers, initContainers } = await admitPod(sent, {}, set);

  assert.deepEqual(containers?.[0]?.resources, { requests: { cpu: "1" }, limits: { cpu: "2", memory: "2Gi" } });
  assert.deepEqual(initContainers?.[0]?.resources, { requests: { cpu: "1" }, limits: { cpu: "3", memory: "1Gi" } });
  assert.equal(
    sent.metadata?.annotations?.["kubernetes.io/limit-ranger"],
    "LimitRanger plugin set: cpu request for container c; cpu limit for container c; cpu request for init container i; memory limit for init container i",
  );
});

for (const [limits, resources, message] of [
  [{ min: { cpu: "1" } }, {}, "minimum cpu usage per Container is 1. No request is specified"],
  [{ min: { cpu: "1" } }, { requests: { cpu: "500m" } }, "minimum cpu usage per Container is 1, but request is 500m"],
  [{ max: { cpu: "1" } }, { requests: { cpu: "1" } }, "maximum cpu usage per Container is 1. No limit is specified"],
  [{ max: { cpu: "1" } }, { limits: { cpu: "2" } }, "maximum cpu usage per Container is 1, but limit is 2"],
  [
    { maxLimitRequestRatio: { cpu: "2" } },
    { requests: { cpu: "1" }, limits: { cpu: "3" } },
    "cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000",
  ],
  [
    { maxLimitRequestRatio: { cpu: "2" } },
    { limits: { cpu: "3" } },
    "cpu max limit to request ratio per Container is 2, but no request is specified or request is 0",
  ],
  [
    { min: { cpu: "1", memory: "1Gi" } },
    {},
    "[minimum cpu usage per Container is 1. No request is specified, minimum memory usage per Container is 1Gi. No request is specified]",
  ],
] as const) {
  test(`a container is refused: ${message}`, async () => {
    const set = limited({ type: "Container", ...limits });

    await assert.rejects(admitPod(pod(resources), {}, set), { message: `pods "web" is forbidden: ${message}` });
  });
}

test("a pod is limited by what all of its containers use", async () => {
  const set = limited({ type: "Pod", max: { cpu: "3" } });
  const two = (cpu: string) =>
    podWith({ containers: ["a", "b"].map((name) => ({ name, resources: { limits: { cpu } } })) });

  await admitPod(two("1500m"), {}, set);
  await assert.rejects(admitPod(two("1501m"), {}, set), {
    message: 'pods "web" is forbidden: maximum cpu usage per Pod is 3, but limit is 3002m',
  });
});

test("an update of a pod is not limited, except a resize", async () => {
  const { admit } = limited({ type: "Container", max: { cpu: "1" } });
  const large = pod({ limits: { cpu: "2" } });

  await admit(requestFor(Pod, large, { operation: "UPDATE" }));
  await assert.rejects(admit(requestFor(Pod, large, { operation: "UPDATE", subresource: "resize" })), /limit is 2$/);
});

test("a claim is limited by what it requests", async () => {
  const { admit } = limited({ type: "PersistentVolumeClaim", min: { storage: "1Gi" }, max: { storage: "2Gi" } });
  const claim = (storage: string) =>
    requestFor(PersistentVolumeClaim, {
      metadata: { name: "data", namespace: "shop" },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage } } },
    });

  await admit(claim("2Gi"));
  await assert.rejects(admit(claim("3Gi")), {
    message:
      'persistentvolumeclaims "data" is forbidden: maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 3Gi',
  });
  await assert.rejects(admit(claim("1")), /minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 1$/);
});
