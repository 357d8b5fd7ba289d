import assert from "node:assert/strict";
import { test } from "node:test";
import { Node } from "#api/core/node.ts";
import { aPod } from "#api/core/pod/testing-pod.ts";
import { build } from "#testing/build.ts";
import { admitPod, admitResize, isWorthASecondLook } from "./admit.ts";

const taking = (hostPort: number) => ({ ports: [{ containerPort: 80, hostPort }] });
const allocatable = { pods: "10" };

test("admitPod() refuses a host port that another pod uses", () => {
  const rejection = admitPod(aPod({}, taking(8000)), { allocatable, others: [aPod({}, taking(8000))] });

  assert.deepEqual(rejection, {
    reason: "NodePorts",
    message: "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
  });
});

test("admitPod() allows a port that only an init container of another pod used", () => {
  const other = aPod({ initContainers: [{ name: "step", image: "step:1", ...taking(8000) }] });

  assert.equal(admitPod(aPod({}, taking(8000)), { allocatable, others: [other] }), undefined);
});

const gpu = "example.com/gpu";
const ofClass = "deviceclass.resource.kubernetes.io/gpu";
const fromClaim = (resourceName: string) => ({
  extendedResourceClaimStatus: {
    resourceClaimName: "c",
    requestMappings: [{ containerName: "main", resourceName, requestName: "container-0-request-0" }],
  },
});
const deviceCases: readonly [
  name: string,
  resource: string,
  offered: string | undefined,
  status: object,
  reason?: string,
][] = [
  ["does not ask for what a claim provides", gpu, undefined, fromClaim(gpu)],
  ["does not ask for it where a device plugin is gone", gpu, "0", fromClaim(gpu)],
  ["asks for what a device plugin has lost", gpu, "0", {}, `OutOf${gpu}`],
  ["asks for what a device plugin offers", gpu, "1", {}, `OutOf${gpu}`],
  ["does not ask for what a class provides by its name", ofClass, undefined, fromClaim(ofClass)],
];
for (const [name, resource, offered, status, reason] of deviceCases) {
  test(`admitPod() ${name}`, () => {
    const pod = aPod({}, { name: "main", resources: { requests: { [resource]: "2" }, limits: { [resource]: "2" } } });
    const room = { ...allocatable, ...(offered === undefined ? {} : { [resource]: offered }) };

    const rejection = admitPod({ ...pod, status: { ...pod.status, ...status } }, { allocatable: room, others: [] });

    assert.equal(rejection?.reason, reason);
  });
}

const labelled = (spec: object = {}) => build(Node, { metadata: { name: "n1", labels: { disk: "ssd" } }, spec });
const tainted = (effect: string) => labelled({ taints: [{ key: "k", value: "v", effect }] });
const onlyOn = (...values: string[]) => ({
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: "disk", operator: "In", values }] }],
      },
    },
  },
});
const isStatic = { metadata: { annotations: { "kubernetes.io/config.source": "file" } } };

const verdicts: readonly [
  name: string,
  pod: Record<string, unknown>,
  node: Node | undefined,
  reason: string | undefined,
][] = [
  ["a selector that the node matches", { nodeSelector: { disk: "ssd" } }, labelled(), undefined],
  ["a selector that it does not match", { nodeSelector: { disk: "hdd" } }, labelled(), "NodeAffinity"],
  ["an affinity that it matches", onlyOn("ssd", "nvme"), labelled(), undefined],
  ["an affinity that it does not match", onlyOn("hdd"), labelled(), "NodeAffinity"],
  ["a node that is not known yet", onlyOn("hdd"), undefined, undefined],
  ["a taint that evicts", {}, tainted("NoExecute"), "TaintToleration"],
  ["a taint that only keeps pods off", {}, tainted("NoSchedule"), undefined],
  ["a tolerated taint", { tolerations: [{ operator: "Exists" }] }, tainted("NoExecute"), undefined],
];
for (const [name, spec, node, reason] of verdicts) {
  test(`admitPod() judges ${name}`, () => {
    assert.equal(admitPod(aPod(spec), { allocatable, others: [], node })?.reason, reason);
  });
}

test("admitPod() lets a static pod run on a tainted node", () => {
  const pod = { ...aPod(), metadata: { ...aPod().metadata, ...isStatic.metadata } };

  assert.equal(admitPod(pod, { allocatable, others: [], node: tainted("NoExecute") }), undefined);
});

test("isWorthASecondLook() if the Node that was seen may be late", () => {
  const rejected = (reason: string) => ({ reason, message: "" });
  assert.equal(isWorthASecondLook(aPod(), labelled(), rejected("NodeAffinity")), true);
  assert.equal(isWorthASecondLook(aPod(), labelled(), rejected("OutOfcpu")), false);
  assert.equal(isWorthASecondLook(aPod(onlyOn("ssd")), undefined, undefined), true);
  assert.equal(isWorthASecondLook(aPod(), undefined, undefined), false);
});

test("admitResize() never changes a Guaranteed pod whose processors are its own", () => {
  const resources = { requests: { cpu: "1", memory: "1Mi" }, limits: { cpu: "1", memory: "1Mi" } };
  const room = {
    allocatable: { ...allocatable, cpu: "9", memory: "1Gi" },
    others: [],
    fixedBy: 'CPU Manager policy "static"',
  };

  assert.deepEqual(admitResize(aPod({}, { resources }), room), {
    reason: "Infeasible",
    message: 'Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"',
  });
  assert.equal(admitResize(aPod(), room), undefined);
});

const profile = (type: string) => ({ securityContext: { appArmorProfile: { type } } });
const features = { supplementalGroupsPolicy: false, appArmor: false };
const featureCases: readonly [
  name: string,
  spec: Record<string, unknown>,
  container: Record<string, unknown>,
  reason: string | undefined,
][] = [
  [
    "strict groups",
    { securityContext: { supplementalGroupsPolicy: "Strict" } },
    {},
    "SupplementalGroupsPolicyNotSupported",
  ],
  ["merged groups", { securityContext: { supplementalGroupsPolicy: "Merge" } }, {}, undefined],
  ["an AppArmor profile of the pod", profile("RuntimeDefault"), {}, "AppArmor"],
  ["an AppArmor profile of a container", {}, profile("RuntimeDefault"), "AppArmor"],
  ["a container without the profile of its pod", profile("RuntimeDefault"), profile("Unconfined"), undefined],
  ["no profile", {}, {}, undefined],
];
for (const [name, spec, container, reason] of featureCases) {
  test(`admitPod() on a machine without features judges ${name}`, () => {
    const pod = aPod(spec, container);
    assert.equal(admitPod(pod, { allocatable, others: [], features })?.reason, reason);
    assert.equal(admitPod(pod, { allocatable, others: [] }), undefined);
  });
}
