import assert from "node:assert/strict";
import { test } from "node:test";
import { decode } from "#schema/json/decode.ts";
import { warningsOf } from "../rules.ts";
import { podLimits, podRequests, qosClassOf } from "./pod/pod-resources.ts";
import { PodStatus } from "./pod/pod-status.ts";
import { aPod } from "./pod/testing-pod.ts";
import { Pod } from "./pod.ts";

test("a new pod starts pending, without the status its client sent", () => {
  const pod = aPod();
  pod.status = { phase: "Running", podIP: "10.0.0.1" };

  Pod.prepareForCreate?.(pod);

  assert.deepEqual(pod.status, { phase: "Pending", qosClass: "BestEffort" });
});

test("a new pod with gates says why it is not scheduled", () => {
  const pod = aPod({ schedulingGates: [{ name: "g" }] });
  pod.metadata.creationTimestamp = "2026-03-01T12:00:00Z";

  Pod.prepareForCreate?.(pod);

  assert.equal(pod.status.conditions?.[0]?.reason, "SchedulingGated");
  assert.equal(pod.status.conditions?.[0]?.lastTransitionTime, pod.metadata.creationTimestamp);
});

test("a new pod has no negative grace period, and no lifecycle that is empty without a signal", () => {
  const pod = aPod({ terminationGracePeriodSeconds: -5 }, { lifecycle: { stopSignal: "SIGHUP" } });

  Pod.prepareForCreate?.(pod);

  assert.equal(pod.spec.terminationGracePeriodSeconds, 1);
  assert.equal(pod.spec.containers[0]?.lifecycle, undefined);
});

test("podIP and the first of podIPs are the same, and podIP is right where they differ", () => {
  const statusOf = (raw: object) => decode(PodStatus, raw, { defaults: true }).value;

  assert.deepEqual(statusOf({ podIP: "10.0.0.1" }), { podIP: "10.0.0.1", podIPs: [{ ip: "10.0.0.1" }] });
  assert.deepEqual(statusOf({ podIPs: [{ ip: "10.0.0.1" }] }), { podIP: "10.0.0.1", podIPs: [{ ip: "10.0.0.1" }] });
  assert.deepEqual(statusOf({ podIP: "10.0.0.1", podIPs: [{ ip: "10.0.0.2" }] }), {
    podIP: "10.0.0.1",
    podIPs: [{ ip: "10.0.0.1" }],
  });
});

test("a table says of a pod that it is over", () => {
  const pod = aPod();

  assert.equal(Pod.rowConditions?.(pod), undefined);
  pod.status = { phase: "Failed" };
  assert.equal(Pod.rowConditions?.(pod)?.[0]?.reason, "Failed");
});

test("label keys become conditions of the selector, once", () => {
  const labelSelector = { matchLabels: { app: "web" } };
  const term = { labelSelector, topologyKey: "zone", matchLabelKeys: ["rev"], mismatchLabelKeys: ["tenant"] };
  const pod = aPod(
    { affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } } },
    {},
    { labels: { rev: "1", tenant: "t" } },
  );

  Pod.prepareForCreate?.(pod);
  Pod.prepareForCreate?.(pod);

  const [made] = pod.spec.affinity?.podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
  assert.deepEqual(made?.labelSelector?.matchExpressions, [
    { key: "rev", operator: "In", values: ["1"] },
    { key: "tenant", operator: "NotIn", values: ["t"] },
  ]);
});

test("an update keeps the status, a status update keeps the owners and the class of service", () => {
  const old = aPod({}, {}, { ownerReferences: [{ apiVersion: "v1", kind: "Node", name: "n", uid: "u" }] });
  old.status = { phase: "Running", qosClass: "BestEffort", observedGeneration: 3 };

  const updated = aPod();
  Pod.prepareForUpdate?.(updated, old);
  assert.equal(updated.status, old.status);

  const reported = aPod();
  reported.status = { phase: "Failed" };
  Pod.prepareForStatusUpdate?.(reported, old);
  assert.deepEqual(reported.status, { phase: "Failed", qosClass: "BestEffort", observedGeneration: 3 });
  assert.equal(reported.metadata.ownerReferences, old.metadata.ownerReferences);
});

const graces = [
  { name: "as the spec says", spec: { nodeName: "n" }, asked: undefined, seconds: 30 },
  { name: "as asked", spec: { nodeName: "n" }, asked: 5, seconds: 5 },
  { name: "at once when it was never placed", spec: {}, asked: 5, seconds: 0 },
  { name: "at once when it has failed", spec: { nodeName: "n" }, phase: "Failed", asked: 5, seconds: 0 },
  { name: "a second instead of less than none", spec: { nodeName: "n" }, asked: -1, seconds: 1 },
] as const;
for (const { name, spec, asked, seconds, ...rest } of graces) {
  test(`a pod gets to end ${name}`, () => {
    const pod = aPod(spec);
    if ("phase" in rest) pod.status.phase = rest.phase;

    assert.equal(Pod.gracePeriodSeconds?.(pod, asked), seconds);
  });
}

const both = { cpu: "1", memory: "1Gi" };
const classes = [
  { name: "nothing", resources: {}, qos: "BestEffort" },
  { name: "limits", resources: { limits: both }, qos: "Guaranteed" },
  { name: "less than its limits", resources: { limits: both, requests: { cpu: "500m" } }, qos: "Burstable" },
  { name: "CPU alone", resources: { limits: { cpu: "1" } }, qos: "Burstable" },
  { name: "storage alone", resources: { limits: { "ephemeral-storage": "1Gi" } }, qos: "BestEffort" },
  { name: "zero", resources: { requests: { cpu: "0" } }, qos: "BestEffort" },
];
for (const { name, resources, qos } of classes) {
  test(`qosClassOf() a pod that asks for ${name} is ${qos}`, () => {
    assert.equal(qosClassOf(aPod({}, { resources }).spec), qos);
  });
}

test("podRequests() counts the moment a pod needs most, sidecars and overhead", () => {
  const { spec } = aPod(
    {
      overhead: { cpu: "10m" },
      initContainers: [
        { name: "big", image: "i", resources: { requests: { cpu: "3" } } },
        { name: "side", image: "i", restartPolicy: "Always", resources: { requests: { cpu: "1", memory: "1Gi" } } },
        { name: "late", image: "i", resources: { requests: { cpu: "500m" } } },
      ],
    },
    { resources: { requests: { cpu: "1" }, limits: { cpu: "2" } } },
  );

  assert.deepEqual(podRequests(spec), { cpu: "3010m", memory: "1Gi" });
  assert.deepEqual(podLimits(spec), { cpu: "2010m" });
});

test("warnings name what is hardly meant", () => {
  const pod = aPod(
    { nodeSelector: { "beta.kubernetes.io/os": "linux" }, terminationGracePeriodSeconds: -1 },
    {
      env: [
        { name: "A", value: "1" },
        { name: "A", value: "2" },
      ],
      ports: [{ containerPort: 80 }, { containerPort: 80 }, { containerPort: 81, hostIP: "10.0.0.1" }],
    },
    { name: "a.b" },
  );

  const warnings = warningsOf(Pod, pod, undefined);

  assert.deepEqual(warnings.slice(1), [
    'spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead',
    'spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply',
    "spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]",
    "spec.containers[0].ports[2]: hostIP set without hostPort: {Name: HostPort:0 ContainerPort:81 Protocol:TCP HostIP:10.0.0.1}",
    "spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1",
  ]);
  assert.match(warnings[0] ?? "", /^metadata\.name: this is used in the Pod's hostname/);
});
