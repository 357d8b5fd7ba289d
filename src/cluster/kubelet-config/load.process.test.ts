import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { loadKubeletConfig } from "./load.ts";

let dir = "";
before(async () => {
  dir = await mkdtemp(path.join(tmpdir(), "orlop-kubelet-"));
});
after(() => rm(dir, { recursive: true }));

const head = "kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\n";
async function load(fields: string) {
  const file = path.join(dir, "kubelet.yaml");
  await writeFile(file, fields);
  return await loadKubeletConfig(file);
}
const loadJson = (fields: object) =>
  load(JSON.stringify({ kind: "KubeletConfiguration", apiVersion: "kubelet.config.k8s.io/v1beta1", ...fields }));

test("a file without fields has the settings of no file, except for full disks and swap", async () => {
  const { settings, configuration, withoutEffect } = await load(head);
  const usual = await loadKubeletConfig(undefined);
  const { evictionHard, ...rest } = usual.configuration;
  assert.deepEqual({ ...settings, eviction: usual.settings.eviction, refusesSwap: false }, usual.settings);
  assert.equal(settings.refusesSwap, true);
  assert.deepEqual({ ...configuration, kind: "" }, { ...rest, kind: "" });
  assert.deepEqual([evictionHard?.["nodefs.available"], evictionHard?.["memory.available"]], ["5%", "100Mi"]);
  const shareOf = ({ eviction }: typeof settings) => {
    const value = eviction.thresholds.find(({ signal }) => signal === "imagefs.available")?.value;
    return value && "share" in value && value.share.toFixed(2);
  };
  assert.deepEqual([shareOf(settings), shareOf(usual.settings)], ["0.15", "0.05"]);
  assert.deepEqual(withoutEffect, []);
  assert.equal(configuration.nodeStatusReportFrequency, "5m0s");
});

test("zero stands for the default where upstream cannot tell it from an absent value", async () => {
  const { settings, configuration } = await loadJson({
    maxPods: 0,
    nodeStatusUpdateFrequency: "0s",
    registryPullQPS: 0,
  });
  assert.equal(settings.maxPods, 110);
  assert.equal(configuration.nodeStatusUpdateFrequency, "10s");
  assert.equal(settings.pulls.perSecond, 0);
});

test("the fields of a file become settings", async () => {
  const { settings, withoutEffect } = await loadJson({
    maxPods: 20,
    podPidsLimit: 100,
    systemReserved: { cpu: "100m", memory: "1Gi" },
    kubeReserved: { memory: "512Mi" },
    evictionHard: { "memory.available": "5%" },
    evictionSoft: { "nodefs.available": "1Gi" },
    evictionSoftGracePeriod: { "nodefs.available": "1m30s" },
    evictionPressureTransitionPeriod: "30s",
    containerLogMaxSize: "1Mi",
    nodeStatusUpdateFrequency: "20s",
    shutdownGracePeriod: "30s",
    shutdownGracePeriodCriticalPods: "10s",
    hairpinMode: "none",
  });
  assert.equal(settings.maxPods, 20);
  assert.equal(settings.maxPids, 100);
  assert.deepEqual(settings.reserved, { cpu: "100m", memory: "1536Mi" });
  const thresholds = settings.eviction.thresholds.map(({ signal, graceMs }) => `${signal} ${graceMs}`);
  assert.deepEqual(thresholds, ["memory.available 0", "nodefs.available 90000", "allocatableMemory.available 0"]);
  assert.equal(settings.eviction.transitionMs, 30_000);
  assert.deepEqual(settings.containerLogs, { maxBytes: 1 << 20, maxFiles: 5 });
  assert.deepEqual([settings.checkMs, settings.reportMs], [20_000, 20_000]);
  assert.deepEqual(settings.shutdown, [
    { priority: 0, graceMs: 20_000 },
    { priority: 2_000_000_000, graceMs: 10_000 },
  ]);
  assert.deepEqual(withoutEffect, ["hairpinMode"]);
});

test("own thresholds replace the default ones, or add to them", async () => {
  const hard = { evictionHard: { "nodefs.available": "1Gi" }, enforceNodeAllocatable: ["none"] };
  const signals = async (more: object) =>
    (await loadJson({ ...hard, ...more })).settings.eviction.thresholds.map(({ signal }) => signal);
  assert.deepEqual(await signals({}), ["nodefs.available"]);
  assert.equal((await signals({ mergeDefaultEvictionSettings: true })).length, 5);
});

test("policies of processors, memory and topology become settings", async () => {
  const { settings, withoutEffect } = await loadJson({
    cpuManagerPolicy: "static",
    cpuManagerPolicyOptions: { "full-pcpus-only": "true" },
    reservedSystemCPUs: "0-1",
    memoryManagerPolicy: "Static",
    reservedMemory: [{ numaNode: 0, limits: { memory: "100Mi" } }],
    topologyManagerPolicy: "restricted",
    topologyManagerScope: "pod",
    topologyManagerPolicyOptions: { "prefer-closest-numa-nodes": "true" },
    memorySwap: { swapBehavior: "LimitedSwap" },
    failSwapOn: false,
    cpuCFSQuota: false,
  });
  assert.deepEqual(settings.placement, {
    cpus: { wholeCores: true, isStrict: false, prefersCache: false, reserved: new Set([0, 1]) },
    reconcileMs: 10_000,
    memory: new Map([[0, { memory: 100 * 2 ** 20 }]]),
    topology: { policy: "restricted", scope: "pod", prefersClosest: true, maxNodes: 8 },
  });
  assert.deepEqual([settings.swap, settings.refusesSwap, settings.limitsCpu], ["LimitedSwap", false, false]);
  assert.deepEqual(withoutEffect, []);
});

const refused: readonly [fields: object, message: RegExp][] = [
  [{ maxPodz: 1 }, /kubelet\.yaml: maxPodz: there is no such field in KubeletConfiguration$/],
  [{ maxPods: "many" }, /kubelet\.yaml: .*maxPods/],
  [{ maxPods: -1 }, /maxPods: Invalid value: -1: must be greater than or equal to 0/],
  [{ evictionHard: { "disk.free": "1Gi" } }, /evictionHard\[disk\.free\]: .*unsupported eviction signal disk\.free/],
  [{ evictionHard: { "nodefs.available": "120%" } }, /evictionHard\[nodefs\.available\]: .*must be <= 100%: 120%/],
  [{ evictionHard: { "nodefs.available": "1Qi" } }, /evictionHard\[nodefs\.available\]/],
  [{ evictionSoft: { "pid.available": "1k" } }, /evictionSoft\[pid\.available\]: .*grace period must be specified/],
  [
    { evictionSoft: { "pid.available": "1k" }, evictionSoftGracePeriod: { "pid.available": "soon" } },
    /evictionSoftGracePeriod\[pid\.available\]: .*invalid duration/,
  ],
  [
    { imageGCLowThresholdPercent: 90 },
    /imageGCLowThresholdPercent: .*must be less than imageGCHighThresholdPercent 85/,
  ],
  [{ imageGCHighThresholdPercent: 101 }, /must be between 0 and 100, inclusive/],
  [{ systemReserved: { gpu: "1" } }, /systemReserved\[gpu\]: .*cannot reserve "gpu" resource/],
  [{ kubeReserved: { cpu: "-1" } }, /kubeReserved\[cpu\]: .*resource quantity cannot be negative/],
  [{ reservedSystemCPUs: "0-99999999" }, /reservedSystemCPUs: .*must be a list of processors/],
  [{ topologyManagerPolicy: "best" }, /topologyManagerPolicy: Unsupported value: "best"/],
  [{ memorySwap: { swapBehavior: "Lots" } }, /memorySwap\.swapBehavior: Unsupported value: "Lots"/],
  [{ shutdownGracePeriodCriticalPods: "5s" }, /must be <= shutdownGracePeriod 0s/],
  [
    { shutdownGracePeriod: "5s", shutdownGracePeriodByPodPriority: [{ priority: 0, shutdownGracePeriodSeconds: 1 }] },
    /Cannot specify both/,
  ],
  [{ enforceNodeAllocatable: ["pods", "pods"] }, /enforceNodeAllocatable\[1\]: Duplicate value/],
  [{ enforceNodeAllocatable: ["system-reserved"] }, /systemReservedCgroup must be specified/],
  [{ containerLogMaxFiles: 1 }, /containerLogMaxFiles: .*must be greater than or equal to 2/],
  [{ allowedUnsafeSysctls: ["kernel.panic"] }, /allowedUnsafeSysctls\[0\]: .*not known to be namespaced/],
  [{ podLogsDir: "/var/../etc" }, /podLogsDir: .*must be an absolute, normalized path/],
  [{ apiVersion: "v1" }, /apiVersion: must be kubelet\.config\.k8s\.io\/v1beta1, not "v1"/],
  [{ cpuManagerPolicy: "static" }, /cpuManagerPolicy: .*requires systemReserved\.cpu \+ kubeReserved\.cpu/],
  [{ memoryManagerPolicy: "Static" }, /memoryManagerPolicy: .*requires reservedMemory/],
  [{ cpuManagerPolicyOptions: { "full-pcpus-only": "yes" } }, /bad value for option "full-pcpus-only"/],
  [{ cpuManagerPolicyOptions: { "align-by-socket": "true" } }, /"align-by-socket" is not stable/],
  [{ cpuManagerPolicyOptions: { magic: "true" } }, /unknown CPU Manager Policy option: "magic"/],
  [{ topologyManagerPolicyOptions: { "max-allowable-numa-nodes": "99" } }, /must be from 8 to 16/],
  [{ runOnce: true }, /runOnce: .*has been deprecated/],
];
for (const [fields, message] of refused) {
  test(`a configuration of the kubelet is refused in one line: ${JSON.stringify(fields)}`, async () => {
    await assert.rejects(loadJson(fields), (error: Error) => {
      assert.equal(error.name, "ConfigFileError");
      assert.match(error.message, message);
      assert.doesNotMatch(error.message, /\n/);
      return true;
    });
  });
}
