/** The objects of the load. */

const container = {
  name: "main",
  image: "registry.k8s.io/pause:3.10",
  ports: [{ containerPort: 8080 }],
  env: [{ name: "MODE", value: "x" }],
  resources: { requests: { cpu: "10m", memory: "16Mi" }, limits: { cpu: "100m", memory: "64Mi" } },
};

export const podSpec = (more: object = {}) => ({
  containers: [container],
  terminationGracePeriodSeconds: 0,
  ...more,
});

export const pod = (name: string, more?: object) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, labels: { app: "bench", part: "load" } },
  spec: podSpec(more),
});

export const configMap = (name: string) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  data: { text: "0123456789".repeat(50) },
});

export const deployment = (name: string, replicas: number) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name },
  spec: {
    replicas,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: podSpec() },
  },
});

export const node = (name: string) => ({
  apiVersion: "v1",
  kind: "Node",
  metadata: { name, labels: { "kubernetes.io/hostname": name } },
});

/** The status of a large, healthy node at this time. */
export function nodeStatus(now: Date) {
  const size = { cpu: "32", memory: "256Gi", pods: "110" };
  const time = `${now.toISOString().slice(0, 19)}Z`;
  const ready = { type: "Ready", status: "True", reason: "Bench", lastHeartbeatTime: time, lastTransitionTime: time };
  return { status: { capacity: size, allocatable: size, conditions: [ready] } };
}

export const lease = (name: string, now: Date) => ({
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  metadata: { name },
  spec: {
    holderIdentity: name,
    leaseDurationSeconds: 40,
    renewTime: now.toISOString().replace("Z", "000Z"),
  },
});
