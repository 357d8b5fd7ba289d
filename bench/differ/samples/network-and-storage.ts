import { type Sample } from "./sample.ts";

export const networkSamples: readonly Sample[] = [
  {
    kind: "EndpointSlice",
    body: {
      addressType: "IPv4",
      endpoints: [
        {
          addresses: ["10.1.2.3"],
          conditions: { ready: true },
          hostname: "a",
          nodeName: "node",
          zone: "z",
          hints: { forZones: [{ name: "z" }] },
          targetRef: { kind: "Pod", name: "a" },
        },
      ],
      ports: [{ name: "http", port: 80, protocol: "TCP", appProtocol: "http" }],
    },
  },
  {
    kind: "Ingress",
    body: {
      spec: {
        ingressClassName: "public",
        defaultBackend: { service: { name: "web", port: { number: 80 } } },
        tls: [{ hosts: ["a.example"], secretName: "tls" }],
        rules: [
          {
            host: "a.example",
            http: {
              paths: [
                { path: "/x", pathType: "Prefix", backend: { service: { name: "web", port: { name: "http" } } } },
              ],
            },
          },
        ],
      },
    },
  },
  {
    kind: "IngressClass",
    body: {
      spec: {
        controller: "example.com/ingress",
        parameters: { apiGroup: "example.com", kind: "Params", name: "p", scope: "Cluster" },
      },
    },
  },
  {
    kind: "IPAddress",
    name: "192.168.77.7",
    body: { spec: { parentRef: { group: "", resource: "services", namespace: "default", name: "web" } } },
  },
  { kind: "ServiceCIDR", body: { spec: { cidrs: ["10.77.0.0/24"] } } },
  {
    kind: "NetworkPolicy",
    body: {
      spec: {
        podSelector: { matchLabels: { app: "a" } },
        policyTypes: ["Ingress", "Egress"],
        ingress: [
          {
            from: [
              { podSelector: { matchLabels: { app: "b" } }, namespaceSelector: {} },
              { ipBlock: { cidr: "10.0.0.0/8", except: ["10.1.0.0/16"] } },
            ],
            ports: [{ port: 80, protocol: "TCP", endPort: 90 }, { port: "http" }],
          },
        ],
        egress: [{ to: [{ namespaceSelector: { matchLabels: { team: "a" } } }] }],
      },
    },
  },
];

export const storageSamples: readonly Sample[] = [
  {
    kind: "CSIDriver",
    body: {
      spec: {
        attachRequired: false,
        podInfoOnMount: true,
        fsGroupPolicy: "File",
        volumeLifecycleModes: ["Persistent", "Ephemeral"],
        tokenRequests: [{ audience: "a", expirationSeconds: 3600 }],
        requiresRepublish: true,
      },
    },
  },
  {
    kind: "CSINode",
    body: {
      spec: { drivers: [{ name: "csi.example.com", nodeID: "n1", topologyKeys: ["zone"], allocatable: { count: 5 } }] },
    },
  },
  {
    kind: "CSIStorageCapacity",
    body: {
      storageClassName: "fast",
      nodeTopology: { matchLabels: { zone: "a" } },
      capacity: "10Gi",
      maximumVolumeSize: "1Gi",
    },
  },
  {
    kind: "StorageClass",
    body: {
      provisioner: "csi.example.com",
      parameters: { type: "fast" },
      reclaimPolicy: "Retain",
      mountOptions: ["hard"],
      allowVolumeExpansion: true,
      volumeBindingMode: "WaitForFirstConsumer",
      allowedTopologies: [{ matchLabelExpressions: [{ key: "zone", values: ["a", "b"] }] }],
    },
  },
  {
    kind: "VolumeAttachment",
    body: { spec: { attacher: "csi.example.com", nodeName: "node", source: { persistentVolumeName: "pv" } } },
  },
  { kind: "VolumeAttributesClass", body: { driverName: "csi.example.com", parameters: { iops: "100" } } },
];
