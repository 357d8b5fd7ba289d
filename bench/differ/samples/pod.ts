import { type Sample, type Tree } from "./sample.ts";

/** A pod spec with every part that has rules of its own. */
export const richPodSpec: Tree = {
  restartPolicy: "Always",
  terminationGracePeriodSeconds: 5,
  nodeSelector: { disk: "ssd" },
  hostAliases: [{ ip: "10.1.2.3", hostnames: ["one.example"] }],
  dnsPolicy: "None",
  dnsConfig: { nameservers: ["10.0.0.1"], searches: ["example.com"], options: [{ name: "ndots", value: "2" }] },
  hostname: "first",
  subdomain: "second",
  securityContext: {
    runAsUser: 1000,
    runAsNonRoot: true,
    fsGroup: 7,
    sysctls: [{ name: "kernel.shm_rmid_forced", value: "1" }],
  },
  imagePullSecrets: [{ name: "pull" }],
  readinessGates: [{ conditionType: "example.com/ready" }],
  tolerations: [{ key: "gpu", operator: "Equal", value: "yes", effect: "NoExecute", tolerationSeconds: 30 }],
  topologySpreadConstraints: [
    {
      maxSkew: 1,
      topologyKey: "zone",
      whenUnsatisfiable: "DoNotSchedule",
      labelSelector: { matchLabels: { app: "a" } },
    },
  ],
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: "disk", operator: "In", values: ["ssd"] }] }],
      },
      preferredDuringSchedulingIgnoredDuringExecution: [
        { weight: 5, preference: { matchExpressions: [{ key: "cores", operator: "Gt", values: ["4"] }] } },
      ],
    },
    podAntiAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [
        { topologyKey: "zone", labelSelector: { matchExpressions: [{ key: "app", operator: "Exists" }] } },
      ],
    },
  },
  initContainers: [{ name: "prepare", image: "busybox", command: ["true"], restartPolicy: "Always" }],
  containers: [
    {
      name: "main",
      image: "nginx:1.27",
      imagePullPolicy: "IfNotPresent",
      ports: [{ name: "http", containerPort: 80, protocol: "TCP" }],
      env: [
        { name: "ONE", value: "1" },
        { name: "SELF", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
        { name: "LIMIT", valueFrom: { resourceFieldRef: { resource: "limits.cpu" } } },
        { name: "KEY", valueFrom: { configMapKeyRef: { name: "config", key: "key" } } },
      ],
      envFrom: [{ prefix: "X_", secretRef: { name: "secret" } }],
      resources: { requests: { cpu: "100m", memory: "64Mi" }, limits: { cpu: "1", memory: "128Mi" } },
      volumeMounts: [{ name: "data", mountPath: "/data", readOnly: true }],
      livenessProbe: { httpGet: { path: "/", port: 80 }, periodSeconds: 3 },
      readinessProbe: { exec: { command: ["true"] } },
      startupProbe: { tcpSocket: { port: "http" }, failureThreshold: 4 },
      lifecycle: { preStop: { exec: { command: ["sleep", "1"] } } },
      securityContext: {
        capabilities: { add: ["NET_ADMIN"], drop: ["ALL"] },
        seccompProfile: { type: "RuntimeDefault" },
      },
    },
  ],
  volumes: [
    { name: "data", emptyDir: { sizeLimit: "1Gi" } },
    { name: "host", hostPath: { path: "/var/log", type: "Directory" } },
    { name: "config", configMap: { name: "config", items: [{ key: "a", path: "b/c", mode: 420 }] } },
    { name: "claim", persistentVolumeClaim: { claimName: "claim" } },
    {
      name: "mixed",
      projected: {
        sources: [
          { secret: { name: "secret" } },
          { downwardAPI: { items: [{ path: "labels", fieldRef: { fieldPath: "metadata.labels" } }] } },
          { serviceAccountToken: { path: "token", expirationSeconds: 3600 } },
        ],
      },
    },
    {
      name: "made",
      ephemeral: {
        volumeClaimTemplate: { spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } } },
      },
    },
  ],
};

export const smallPodSpec: Tree = { containers: [{ name: "main", image: "nginx" }] };

const labels = { app: "a" };
export const podTemplate: Tree = { metadata: { labels }, spec: smallPodSpec };
export const labelSelector: Tree = { matchLabels: labels };

export const podSamples: readonly Sample[] = [
  { kind: "Pod", body: { spec: richPodSpec } },
  { kind: "PodTemplate", body: { template: podTemplate } },
  {
    kind: "ReplicationController",
    body: { spec: { replicas: 2, minReadySeconds: 1, selector: labels, template: podTemplate } },
  },
];
