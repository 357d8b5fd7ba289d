import { type Sample } from "./sample.ts";

export const coreSamples: readonly Sample[] = [
  {
    kind: "ConfigMap",
    body: { data: { key: "value", "other.txt": "two\nlines" }, binaryData: { raw: "AAEC" }, immutable: false },
  },
  {
    kind: "Secret",
    body: { type: "kubernetes.io/basic-auth", data: { username: "YQ==" }, stringData: { password: "b" } },
  },
  {
    kind: "Endpoints",
    body: {
      subsets: [
        {
          addresses: [{ ip: "10.1.2.3", hostname: "a", nodeName: "node", targetRef: { kind: "Pod", name: "a" } }],
          notReadyAddresses: [{ ip: "10.1.2.4" }],
          ports: [{ name: "http", port: 80, protocol: "TCP", appProtocol: "http" }],
        },
      ],
    },
  },
  {
    kind: "Event",
    apiVersion: "v1",
    body: {
      involvedObject: { kind: "Pod", name: "a", namespace: "@namespace@" },
      reason: "Tested",
      message: "all is well",
      type: "Normal",
      source: { component: "differ" },
      count: 2,
      firstTimestamp: "2026-01-01T00:00:00Z",
      lastTimestamp: "2026-01-01T00:00:00Z",
    },
  },
  {
    kind: "Event",
    apiVersion: "events.k8s.io/v1",
    body: {
      regarding: { kind: "Pod", name: "a", namespace: "@namespace@" },
      eventTime: "2026-01-01T00:00:00.000000Z",
      reportingController: "example.com/differ",
      reportingInstance: "differ-1",
      action: "Test",
      reason: "Tested",
      type: "Normal",
      note: "all is well",
      series: { count: 3, lastObservedTime: "2026-01-01T00:00:00.000000Z" },
    },
  },
  {
    kind: "LimitRange",
    body: {
      spec: {
        limits: [
          {
            type: "Container",
            max: { cpu: "800" },
            min: { cpu: "1m" },
            default: { cpu: "500" },
            defaultRequest: { cpu: "200m" },
          },
          { type: "PersistentVolumeClaim", max: { storage: "20000Gi" } },
        ],
      },
    },
  },
  { kind: "Namespace", body: { metadata: { labels: { team: "a" } }, spec: { finalizers: ["kubernetes"] } } },
  {
    kind: "Node",
    body: {
      spec: {
        podCIDR: "10.244.0.0/24",
        podCIDRs: ["10.244.0.0/24"],
        providerID: "example://1",
        unschedulable: true,
        taints: [{ key: "gpu", value: "yes", effect: "NoSchedule" }],
      },
      status: {
        capacity: { cpu: "4", memory: "8Gi", pods: "110" },
        allocatable: { cpu: "3", memory: "7Gi", pods: "110" },
        addresses: [{ type: "InternalIP", address: "10.0.0.1" }],
        conditions: [{ type: "Ready", status: "True", reason: "KubeletReady", message: "ready" }],
      },
    },
  },
  {
    kind: "PersistentVolume",
    body: {
      spec: {
        capacity: { storage: "5Gi" },
        accessModes: ["ReadWriteOnce"],
        persistentVolumeReclaimPolicy: "Retain",
        storageClassName: "fast",
        volumeMode: "Filesystem",
        mountOptions: ["hard"],
        csi: { driver: "csi.example.com", volumeHandle: "v1", fsType: "ext4", volumeAttributes: { a: "b" } },
        claimRef: { namespace: "@namespace@", name: "claim" },
        nodeAffinity: {
          required: { nodeSelectorTerms: [{ matchExpressions: [{ key: "zone", operator: "In", values: ["a"] }] }] },
        },
      },
    },
  },
  {
    kind: "PersistentVolumeClaim",
    body: {
      spec: {
        accessModes: ["ReadWriteOnce"],
        resources: { requests: { storage: "1Gi" } },
        storageClassName: "fast",
        volumeMode: "Filesystem",
        selector: { matchLabels: { a: "b" } },
        dataSource: { kind: "PersistentVolumeClaim", name: "other" },
      },
    },
  },
  {
    kind: "ResourceQuota",
    body: {
      spec: {
        hard: { "requests.cpu": "10000", pods: "10000", "count/configmaps": "100000" },
        scopeSelector: { matchExpressions: [{ scopeName: "PriorityClass", operator: "In", values: ["high"] }] },
      },
    },
  },
  {
    kind: "Service",
    body: {
      spec: {
        type: "NodePort",
        selector: { app: "a" },
        ports: [
          { name: "http", port: 80, targetPort: "web", protocol: "TCP", appProtocol: "http" },
          { name: "dns", port: 53, targetPort: 5353, protocol: "UDP" },
        ],
        sessionAffinity: "ClientIP",
        sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } },
        externalTrafficPolicy: "Cluster",
        internalTrafficPolicy: "Local",
        externalIPs: ["10.9.8.7"],
        ipFamilyPolicy: "SingleStack",
        trafficDistribution: "PreferClose",
      },
    },
  },
  {
    kind: "ServiceAccount",
    body: { secrets: [{ name: "one" }], imagePullSecrets: [{ name: "pull" }], automountServiceAccountToken: false },
  },
  {
    kind: "Lease",
    body: {
      spec: {
        holderIdentity: "one",
        leaseDurationSeconds: 15,
        acquireTime: "2026-01-01T00:00:00.000000Z",
        renewTime: "2026-01-01T00:00:00.123456Z",
        leaseTransitions: 3,
      },
    },
  },
];
