import { type NodeParts, type PodParts } from "./objects.ts";

/** One of upstream's workloads: what there is before, and which pods are measured. */
export interface Workload {
  readonly name: string;
  /** Upstream's threshold in pods a second. */
  readonly upstream: number;
  /** If upstream has none for this size: the rate that we demand. */
  readonly wanted?: number;
  readonly initial: number;
  readonly measured: number;
  /** Instead of as many as the flag says. */
  readonly nodes?: number;
  /** Namespaces of the initial pods; one by default. */
  readonly namespaces?: number;
  readonly namespaceLabels?: Readonly<Record<string, string>>;
  readonly extra?: "volumes" | "devices";
  nodeOf?(n: number): NodeParts;
  initialPod?(): Parts;
  measuredPod?(color: string): Parts;
  /** Created five times a second while pods are measured. */
  readonly churn?: Parts;
}

type Parts = Omit<PodParts, "namespace" | "name">;

const zone = "topology.kubernetes.io/zone";
const host = "kubernetes.io/hostname";
const namespaces = ["sched-0", "measured"];

const inZone1 = {
  requiredDuringSchedulingIgnoredDuringExecution: {
    nodeSelectorTerms: [{ matchExpressions: [{ key: zone, operator: "In", values: ["zone1", "zone2"] }] }],
  },
};
const terms = (...required: readonly object[]) => ({ requiredDuringSchedulingIgnoredDuringExecution: required });
const coloured = (color: string, spec: (labelSelector: object) => object): Parts => ({
  labels: { color },
  spec: spec({ matchLabels: { color } }),
});

const near = (color: string) =>
  coloured(color, (labelSelector) => ({
    affinity: { podAffinity: terms({ labelSelector, topologyKey: zone, namespaces }) },
  }));
const apart = (color: string) =>
  coloured(color, (labelSelector) => ({
    affinity: { podAntiAffinity: terms({ labelSelector, topologyKey: host, namespaces }) },
  }));
const apartBySelector = (color: string) =>
  coloured(color, (labelSelector) => ({
    affinity: {
      podAntiAffinity: terms({
        labelSelector,
        topologyKey: host,
        namespaceSelector: { matchLabels: { team: "devops" } },
      }),
    },
  }));
const spread = (color: string) =>
  coloured(color, (labelSelector) => ({
    topologySpreadConstraints: [{ maxSkew: 5, topologyKey: zone, whenUnsatisfiable: "DoNotSchedule", labelSelector }],
  }));

const low: Parts = { cpu: "900m" };
const high = (cpu: string): Parts => ({ cpu, spec: { priorityClassName: "high" } });

export const workloads: readonly Workload[] = [
  { name: "basic", upstream: 270, initial: 1000, measured: 10_000 },
  {
    name: "node affinity",
    upstream: 220,
    initial: 5000,
    measured: 10_000,
    nodeOf: () => ({ labels: { [zone]: "zone1" } }),
    measuredPod: () => ({ spec: { affinity: { nodeAffinity: inZone1 } } }),
  },
  {
    name: "preemption",
    upstream: 160,
    initial: 20_000,
    measured: 5000,
    initialPod: () => low,
    churn: high("3"),
  },
  { name: "unschedulable mix", upstream: 170, initial: 100, measured: 10_000, churn: high("9") },
  {
    name: "topology spread",
    upstream: 85,
    initial: 5000,
    measured: 5000,
    nodeOf: (n) => ({ labels: { [zone]: `moon-${(n % 3) + 1}` } }),
    initialPod: () => ({}),
    measuredPod: spread,
  },
  { name: "anti-affinity", upstream: 60, initial: 1000, measured: 2000, measuredPod: apart },
  {
    name: "CSI volumes",
    upstream: 48,
    initial: 5000,
    measured: 5000,
    extra: "volumes",
    nodeOf: () => ({ volumes: 39 }),
  },
  {
    name: "pod affinity",
    upstream: 35,
    initial: 5000,
    measured: 5000,
    nodeOf: () => ({ labels: { [zone]: "zone1" } }),
    measuredPod: near,
  },
  {
    name: "anti-affinity, namespaces",
    upstream: 24,
    // Every node has one pod at the end.
    nodes: 6000,
    initial: 4000,
    measured: 2000,
    namespaces: 100,
    namespaceLabels: { team: "devops" },
    measuredPod: apartBySelector,
  },
  { name: "device claims", upstream: 56, wanted: 100, initial: 2500, measured: 2500, nodes: 500, extra: "devices" },
];
