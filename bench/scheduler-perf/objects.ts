/** The objects of the workloads, with the sizes and rules of upstream's scheduler_perf. */

export interface PodParts {
  readonly namespace: string;
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly cpu?: string;
  readonly spec?: object;
}

export const podOf = ({ namespace, name, labels = {}, cpu = "100m", spec = {} }: PodParts) => {
  const size = { cpu, memory: "500Mi" };
  const ports = [{ containerPort: 80 }];
  const resources = { limits: size, requests: size };
  const containers = [{ name: "pause", image: "registry.k8s.io/pause:3.10.2", ports, resources }];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { namespace, name, labels },
    spec: { terminationGracePeriodSeconds: 0, containers, ...spec },
  };
};

export interface NodeParts {
  readonly labels?: Readonly<Record<string, string>>;
  /** How many volumes of the driver it can have. */
  readonly volumes?: number;
}

export const driver = "ebs.csi.aws.com";

export function nodeOf(name: string, { labels = {}, volumes }: NodeParts, now: Date) {
  const size = { cpu: "4", memory: "32Gi", pods: "110" };
  const attachable = volumes ? { [`attachable-volumes-csi-${driver}`]: `${volumes}` } : {};
  const amounts = { ...size, ...attachable };
  const time = timeOf(now);
  const ready = { type: "Ready", status: "True", reason: "Bench", lastHeartbeatTime: time, lastTransitionTime: time };
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, labels: { "kubernetes.io/hostname": name, ...labels } },
    status: { capacity: amounts, allocatable: amounts, conditions: [ready] },
  };
}

export const timeOf = (time: Date): string => `${time.toISOString().slice(0, 19)}Z`;

export const csiNodeOf = (name: string, count: number) => ({
  apiVersion: "storage.k8s.io/v1",
  kind: "CSINode",
  metadata: { name },
  spec: { drivers: [{ name: driver, nodeID: name, topologyKeys: [], allocatable: { count } }] },
});

/** A volume and the claim that is bound to it. */
export function volumeOf(namespace: string, name: string) {
  const accessModes = ["ReadOnlyMany"];
  const storage = "1Gi";
  const claimRef = { apiVersion: "v1", kind: "PersistentVolumeClaim", namespace, name };
  const volume = {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name },
    spec: {
      accessModes,
      capacity: { storage },
      csi: { driver, volumeHandle: name },
      persistentVolumeReclaimPolicy: "Retain",
      claimRef,
    },
  };
  const claim = {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { namespace, name },
    spec: { accessModes, resources: { requests: { storage } }, volumeName: name, storageClassName: "" },
  };
  return { volume, claim };
}

const deviceDriver = "test-driver.cdi.k8s.io";

export const deviceClass = {
  apiVersion: "resource.k8s.io/v1",
  kind: "DeviceClass",
  metadata: { name: "test-class" },
  spec: { selectors: [{ cel: { expression: `device.driver == "${deviceDriver}"` } }] },
};

export const claimTemplateOf = (namespace: string) => ({
  apiVersion: "resource.k8s.io/v1",
  kind: "ResourceClaimTemplate",
  metadata: { namespace, name: "test-claim-template" },
  spec: { spec: { devices: { requests: [{ name: "req-0", exactly: { deviceClassName: "test-class" } }] } } },
});

export const sliceOf = (nodeName: string, devices: number) => ({
  apiVersion: "resource.k8s.io/v1",
  kind: "ResourceSlice",
  metadata: { name: `${nodeName}-slice` },
  spec: {
    driver: deviceDriver,
    nodeName,
    pool: { name: nodeName, generation: 1, resourceSliceCount: 1 },
    devices: Array.from({ length: devices }, (_, n) => ({ name: `device-${n}` })),
  },
});
