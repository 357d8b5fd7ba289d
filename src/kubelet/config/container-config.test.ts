import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "#api/core/pod.ts";
import { containerResources, oomScoreAdjust, podCgroupLimits } from "#kubelet/resources/linux-resources.ts";
import type { Image } from "#kubelet/runtime/runtime.ts";
import { build } from "#testing/build.ts";
import { containerConfig, imageNames, subPathOf } from "./container-config.ts";
import { sandboxConfig } from "./sandbox-config.ts";

const image: Image = {
  id: "sha256:1",
  tags: ["app:1"],
  digests: ["app@sha256:2"],
  sizeBytes: 1,
  username: "",
  pinned: false,
};
const aPod = (container: object = {}, spec: object = {}) =>
  build(Pod, {
    metadata: { namespace: "n", name: "p", uid: "u" },
    spec: { containers: [{ name: "c", image: "app", ...container }], ...spec },
  });
const first = (pod: Pod) => {
  const [container] = pod.spec.containers;
  assert(container);
  return container;
};

function configOf(
  container: object = {},
  spec: object = {},
  more: Partial<Parameters<typeof containerConfig>[0]> = {},
) {
  const pod = aPod(container, spec);
  return containerConfig({
    pod,
    container: first(pod),
    image,
    restartCount: 2,
    attempt: 2,
    environment: new Map([["A", "1"]]),
    mounts: [],
    messageFile: "/pods/u/c/2",
    targetId: undefined,
    devices: [],
    rules: { memoryCapacity: 8 * 2 ** 30 },
    seccompDir: "/seccomp",
    ...more,
  });
}

test("containerConfig() has the command, with variables expanded in its arguments", () => {
  const config = configOf({ command: ["run", "$(A)", "$(B)"], args: ["$$(A)"] });

  assert.deepEqual([config.command, config.args], [["run", "1", "$(B)"], ["$(A)"]]);
  assert.deepEqual([config.image, config.imageName, config.attempt, config.logPath], ["sha256:1", "app", 2, "c/2.log"]);
  assert.deepEqual(config.env, [{ name: "A", value: "1" }]);
  assert.deepEqual(config.mounts, [
    { containerPath: "/dev/termination-log", hostPath: "/pods/u/c/2", readOnly: false, propagation: "None" },
  ]);
  assert.equal(config.annotations["io.kubernetes.container.restartCount"], "2");
  assert.equal(config.labels["io.kubernetes.pod.uid"], "u");
});

test("containerConfig() prefers the container's security context to the pod's", () => {
  const securityContext = {
    runAsUser: 1,
    capabilities: { drop: ["ALL"] },
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
  };
  const shared = {
    runAsUser: 2,
    runAsGroup: 3,
    fsGroup: 4,
    supplementalGroups: [5],
    seccompProfile: { type: "RuntimeDefault" },
  };

  const { security } = configOf({ securityContext }, { securityContext: shared });

  assert.deepEqual([security.runAsUser, security.runAsGroup, security.supplementalGroups], [1, 3, [4, 5]]);
  assert.deepEqual(security.capabilities, { add: [], drop: ["ALL"] });
  assert.deepEqual([security.noNewPrivileges, security.readOnlyRootFilesystem], [true, true]);
  assert.deepEqual(security.seccomp, { type: "RuntimeDefault" });
  assert(security.maskedPaths?.includes("/proc/kcore"));
});

test("containerConfig() finds local seccomp profiles, and leaves privileged containers unconfined", () => {
  const local = { securityContext: { seccompProfile: { type: "Localhost", localhostProfile: "a.json" } } };
  const privileged = { securityContext: { privileged: true, seccompProfile: { type: "RuntimeDefault" } } };

  assert.deepEqual(configOf(local).security.seccomp, { type: "Localhost", path: "/seccomp/a.json" });
  assert.deepEqual(configOf(privileged).security.seccomp, { type: "Unconfined" });
  assert.deepEqual(configOf(privileged).security.maskedPaths, []);
  assert.deepEqual(configOf().security.seccomp, { type: "Unconfined" });
});

const nonRoot = { securityContext: { runAsNonRoot: true } };
const where = '(pod: "p_n(u)", container: c)';
const refusals = [
  {
    name: "root by number",
    image: { ...image, uid: 0 },
    message: `container has runAsNonRoot and image will run as root ${where}`,
  },
  {
    name: "an image without a user",
    image: { id: image.id, tags: [], digests: [], sizeBytes: 1, username: "", pinned: false },
    message: `container has runAsNonRoot and image will run as root ${where}`,
  },
  {
    name: "a user by name",
    image: { ...image, username: "web" },
    message: `container has runAsNonRoot and image has non-numeric user (web), cannot verify user is non-root ${where}`,
  },
];
for (const { name, image: other, message } of refusals) {
  test(`containerConfig() refuses ${name} under runAsNonRoot`, () => {
    assert.throws(() => configOf(nonRoot, {}, { image: other }), { message });
  });
}

test("containerConfig() lets an ephemeral container see another's processes", () => {
  assert.deepEqual(configOf({}, {}, { targetId: "t" }).security.namespaces, {
    network: "pod",
    ipc: "pod",
    pid: "target",
    targetId: "t",
  });
  assert.equal(configOf({}, { shareProcessNamespace: true }, { targetId: "t" }).security.namespaces.pid, "pod");
});

test("containerConfig() passes on what device plugins allocated", () => {
  const given = {
    envs: { GPU: "0" },
    mounts: [{ containerPath: "/lib/gpu", hostPath: "/opt/gpu", readOnly: true }],
    devices: [{ containerPath: "/dev/gpu0", hostPath: "/dev/gpu0", permissions: "rw" }],
    annotations: { note: "x" },
    cdiDevices: [{ name: "example.com/gpu=0" }],
  };

  const config = configOf({}, {}, { devices: [given] });

  assert.deepEqual([config.devices, config.cdiDevices], [given.devices, ["example.com/gpu=0"]]);
  assert.equal(config.annotations.note, "x");
  assert(config.mounts.some(({ hostPath }) => hostPath === "/opt/gpu"));
  assert(config.env.some(({ name }) => name === "GPU"));
});

test("subPathOf() expands variables and refuses an unknown one", () => {
  const mount = { name: "v", mountPath: "/v", subPathExpr: "x/$(A)" };

  assert.equal(subPathOf(mount, new Map([["A", "1"]])), "x/1");
  assert.throws(() => subPathOf(mount, new Map()), { message: 'missing value for "A"' });
});

test("imageNames() are those of the registry, or the requested name", () => {
  assert.deepEqual(imageNames(image, "app"), { image: "app:1", imageId: "app@sha256:2" });
  assert.deepEqual(imageNames({ ...image, tags: [], digests: [] }, "app"), { image: "app", imageId: "sha256:1" });
});

test("sandboxConfig() describes the whole pod", () => {
  const dns = { servers: ["10.96.0.10"], searches: [], options: [] };
  const pod = aPod(
    { ports: [{ containerPort: 80, hostPort: 8080 }, { containerPort: 81 }] },
    {
      initContainers: [{ name: "step", image: "step:1", ports: [{ containerPort: 90, hostPort: 9090 }] }],
      hostname: "h",
      subdomain: "s",
      setHostnameAsFQDN: true,
      securityContext: { sysctls: [{ name: "a.b", value: "1" }] },
    },
  );

  const config = sandboxConfig({
    pod,
    attempt: 1,
    dns,
    clusterDomain: "c.local",
    logDirectory: "/l",
    cgroupParent: "/g",
  });

  assert.equal(config.hostname, "h.s.n.svc.c.local");
  assert.deepEqual(config.ports, [{ hostPort: 8080, containerPort: 80, protocol: "TCP", hostIp: "" }]);
  assert.deepEqual(config.sysctls, { "a.b": "1" });
  assert.deepEqual(config.security.seccomp, { type: "RuntimeDefault" });
});

const gib = 2 ** 30;
const amounts = (requests: object, limits: object = {}) => ({ resources: { requests, limits } });
const scores = [
  { name: "BestEffort", container: {}, score: 1000 },
  { name: "Guaranteed", container: amounts({ cpu: "1", memory: "1Gi" }, { cpu: "1", memory: "1Gi" }), score: -997 },
  { name: "Burstable with half of the memory", container: amounts({ memory: "4Gi" }), score: 500 },
  { name: "Burstable with none", container: amounts({ cpu: "1" }), score: 999 },
  { name: "Burstable with all", container: amounts({ memory: "8Gi" }), score: 3 },
];
for (const { name, container, score } of scores) {
  test(`oomScoreAdjust() of ${name} is ${score}`, () => {
    const pod = aPod(container);
    assert.equal(oomScoreAdjust(pod, first(pod), 8 * gib), score);
  });
}

test("containerResources() are shares, quota and limits", () => {
  const pod = aPod(amounts({ cpu: "250m", memory: "1Gi" }, { cpu: "1500m", memory: "2Gi" }));

  const { cpuShares, cpuQuotaUs, cpuPeriodUs, memoryLimitBytes } = containerResources(pod, first(pod), {
    memoryCapacity: 8 * gib,
  });

  assert.deepEqual([cpuShares, cpuQuotaUs, cpuPeriodUs, memoryLimitBytes], [256, 150_000, 100_000, 2 * gib]);
});

test("podCgroupLimits() limit a pod only if all its containers are limited", () => {
  const limited = aPod(amounts({ cpu: "500m" }, { cpu: "1", memory: "1Gi" }));
  const other = { name: "d", image: "i", resources: { requests: { cpu: "500m" }, limits: { cpu: "1" } } };
  const partly = aPod({}, { containers: [first(limited), other] });

  assert.deepEqual(podCgroupLimits(limited, { maxPids: 100 }), {
    cpuShares: 512,
    cpuPeriodUs: 100_000,
    cpuQuotaUs: 100_000,
    memoryBytes: gib,
    pids: 100,
  });
  assert.deepEqual(podCgroupLimits(partly, {}), { cpuShares: 1024, cpuPeriodUs: 100_000, cpuQuotaUs: 200_000 });
  assert.deepEqual(podCgroupLimits(aPod(), {}), { cpuShares: 2, cpuPeriodUs: 100_000 });
});
