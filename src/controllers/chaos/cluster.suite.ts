import { Deployment } from "#api/apps/deployment.ts";
import { HorizontalPodAutoscaler } from "#api/autoscaling/horizontal-pod-autoscaler.ts";
import { CertificateSigningRequest } from "#api/certificates/certificate-signing-request.ts";
import { ConfigMap } from "#api/core/config-map.ts";
import { Namespace } from "#api/core/namespace.ts";
import { Pod } from "#api/core/pod.ts";
import { ResourceQuota } from "#api/core/resource-quota.ts";
import { Service } from "#api/core/service.ts";
import { findCondition, withCondition } from "#api/meta/condition.ts";
import { ownerRefTo } from "#api/meta/owner.ts";
import { PodDisruptionBudget } from "#api/policy/pod-disruption-budget.ts";
import { ClusterRoleBinding } from "#api/rbac/cluster-role-binding.ts";
import { nodeUser } from "#cluster/identities.ts";
import { timestamp } from "#lib/async/clock.ts";
import { type Ordeal, type Place } from "#testing/chaos/ordeal.ts";
import { signingRequest } from "#testing/peers/signing-request.ts";

const labels = { app: "web" };
const selector = { matchLabels: labels };
const web = (at: Place, replicas?: number) =>
  at.create(Deployment, {
    metadata: at.ref("web"),
    spec: {
      ...(replicas === undefined ? {} : { replicas }),
      selector,
      template: {
        metadata: { labels },
        spec: { containers: [{ name: "main", image: "web:1", resources: { requests: { cpu: "100m" } } }] },
      },
    },
  });
const map = (at: Place, name: string, ...owners: ConfigMap[]) =>
  at.create(ConfigMap, {
    metadata: {
      ...at.ref(name),
      ownerReferences: owners.map((owner) => ({ ...ownerRefTo(ConfigMap, owner), controller: false })),
    },
  });
const ownMaps = async (at: Place) =>
  (await at.list(ConfigMap)).map(({ metadata }) => metadata.name).filter((name) => name !== "kube-root-ca.crt");

const kubelet = {
  request: Buffer.from(signingRequest({ commonName: "system:node:a", organizations: ["system:nodes"] }).pem).toString(
    "base64",
  ),
  signerName: "kubernetes.io/kube-apiserver-client-kubelet",
  usages: ["digital signature", "client auth"],
};
const requestsOf = async (at: Place) =>
  (await at.cluster.list(CertificateSigningRequest)).map(({ metadata }) => metadata.name);

const evictAll = async (at: Place) => {
  for (const { metadata } of await at.list(Pod)) {
    const body = { kind: "Eviction", apiVersion: "policy/v1", metadata: at.ref(metadata.name) };
    await at.cluster.client.createSubresource(Pod, metadata, "eviction", body).catch(() => undefined);
  }
};

/** An autoscaler under one load after the other. Faults may mislead it for a while, but not for good and not past its bounds. */
const autoscaled = (what: string, { loads, size }: { loads: readonly number[]; size: number }): Ordeal => ({
  name: `an autoscaled Deployment ${what}`,
  controllers: ["horizontal-pod-autoscaler-controller"],
  rounds: [
    async (at) => {
      await web(at);
      const target = { type: "Utilization", averageUtilization: 50 };
      await at.create(HorizontalPodAutoscaler, {
        metadata: at.ref("web"),
        spec: {
          scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" },
          maxReplicas: 8,
          metrics: [{ type: "Resource", resource: { name: "cpu", target } }],
        },
      });
    },
    ...loads.map((millis) => async (at: Place) => at.load(millis)),
  ],
  watch: (at) =>
    at.follow(Deployment, ({ spec }) => {
      if (spec.replicas > 8) at.fault(`${spec.replicas} replicas`);
    }),
  async ends(at) {
    const { spec } = await at.cluster.client.get(Deployment, at.ref("web"));
    const { status } = await at.cluster.client.get(HorizontalPodAutoscaler, at.ref("web"));
    return [
      [spec.replicas, status.currentReplicas, status.desiredReplicas],
      [size, size, size],
    ];
  },
});

export const cluster: readonly Ordeal[] = [
  {
    name: "a namespace that is deleted takes everything along",
    controllers: ["namespace-controller"],
    rounds: [
      async (at) => {
        await web(at, 3);
        await map(at, "m");
        await at.create(Service, { metadata: at.ref("web"), spec: { selector: labels, ports: [{ port: 80 }] } });
      },
      (at) => at.cluster.client.delete(Namespace, { name: at.namespace }),
    ],
    async ends(at) {
      const left = (await at.cluster.list(Namespace)).some(({ metadata }) => metadata.name === at.namespace);
      const objects = [...(await at.list(Pod)), ...(await at.list(ConfigMap)), ...(await at.list(Service))];
      return [
        [left, objects, await at.list(Deployment)],
        [false, [], []],
      ];
    },
  },
  {
    name: "an object goes with its last owner, and never before",
    controllers: ["garbage-collector-controller"],
    rounds: [
      async (at) => {
        const owner = await map(at, "owner");
        await map(at, "kept");
        for (let n = 0; n < 4; n++) await map(at, `owned-${n}`, owner);
        const first = await at.cluster.client.get(ConfigMap, at.ref("owned-0"));
        await map(at, "grandchild", first);
      },
      (at) => at.cluster.client.delete(ConfigMap, at.ref("owner"), { propagationPolicy: "Foreground" }),
    ],
    watch(at) {
      const maps = at.cluster.informers.of(ConfigMap);
      at.follow(ConfigMap, ({ metadata }, type) => {
        const owner = maps.get(at.ref("owner"));
        if (type === "delete" && metadata.name === "owner" && maps.get(at.ref("owned-1"))) at.fault("owner went first");
        if (type === "delete" && metadata.name.startsWith("owned") && owner && !owner.metadata.deletionTimestamp) {
          at.fault(`${metadata.name} went while its owner stayed`);
        }
      });
    },
    ends: async (at) => [await ownMaps(at), ["kept"]],
  },
  {
    name: "a quota knows what is used",
    controllers: ["resourcequota-controller"],
    rounds: [
      (at) => at.create(ResourceQuota, { metadata: at.ref("few"), spec: { hard: { configmaps: "10", pods: "10" } } }),
      async (at) => {
        for (const name of ["a", "b", "c", "d"]) await map(at, name);
        await web(at, 3);
      },
      async (at) => {
        await at.cluster.client.delete(ConfigMap, at.ref("a"));
        await at.cluster.client.delete(Deployment, at.ref("web"));
      },
    ],
    async ends(at) {
      const { status } = await at.cluster.client.get(ResourceQuota, at.ref("few"));
      return [status.used, { configmaps: "4", pods: "0" }];
    },
  },
  autoscaled("grows with its load", { loads: [90, 290], size: 6 }),
  autoscaled("shrinks with its load", { loads: [290, 90], size: 2 }),
  {
    name: "a budget keeps enough pods while all are evicted, and counts them",
    controllers: ["disruption-controller"],
    rounds: [
      async (at) => {
        await web(at, 8);
        await at.create(PodDisruptionBudget, { metadata: at.ref("web"), spec: { selector, minAvailable: 6 } });
      },
      evictAll,
      evictAll,
    ],
    watch(at) {
      const healthy = new Set<string>();
      const seen = { isUp: false };
      at.follow(Pod, (pod, type) => {
        if (type === "delete" || pod.metadata.deletionTimestamp || pod.status.phase !== "Running")
          healthy.delete(pod.metadata.uid);
        else healthy.add(pod.metadata.uid);
        seen.isUp ||= healthy.size === 8;
        if (seen.isUp && healthy.size < 6) at.fault(`only ${healthy.size} healthy pods`);
      });
    },
    async ends(at) {
      const { status } = await at.cluster.client.get(PodDisruptionBudget, at.ref("web"));
      const { currentHealthy, desiredHealthy, expectedPods, disruptionsAllowed } = status;
      return [
        [currentHealthy, desiredHealthy, expectedPods, disruptionsAllowed],
        [8, 6, 8, 2],
      ];
    },
  },
  {
    name: "a disruption that does not come is taken back",
    controllers: ["disruption-controller"],
    rounds: [
      (at) =>
        at.create(Pod, {
          metadata: at.ref("calm"),
          spec: { nodeName: "node-1", containers: [{ name: "c", image: "i" }] },
        }),
      async (at) => {
        const pod = await at.cluster.client.get(Pod, at.ref("calm"));
        const lastTransitionTime = timestamp(at.cluster.clock.now());
        const target = {
          type: "DisruptionTarget",
          status: "True" as const,
          reason: "PreemptionByScheduler",
          lastTransitionTime,
        };
        const conditions = withCondition(pod.status.conditions, target);
        await at.cluster.client.updateStatus(Pod, { ...pod, status: { ...pod.status, conditions } });
      },
    ],
    async ends(at) {
      const { status } = await at.cluster.client.get(Pod, at.ref("calm"));
      return [findCondition(status.conditions, "DisruptionTarget")?.status, "False"];
    },
  },
  {
    name: "a kubelet's request is approved, gets one certificate, and is removed",
    controllers: [
      "certificatesigningrequest-approving-controller",
      "certificatesigningrequest-signing-controller",
      "certificatesigningrequest-cleaner-controller",
    ],
    rounds: [
      async (at) => {
        await at.create(ClusterRoleBinding, {
          metadata: { name: at.namespace },
          roleRef: {
            apiGroup: "rbac.authorization.k8s.io",
            kind: "ClusterRole",
            name: "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient",
          },
          subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: "system:nodes" }],
        });
        const asNode = at.cluster.clientFor(nodeUser("a"));
        for (const name of ["a", "b"])
          await asNode.create(CertificateSigningRequest, { metadata: { name }, spec: kubelet });
      },
    ],
    watch(at) {
      const given = new Map<string, string>();
      at.cluster.informers.of(CertificateSigningRequest).subscribe(({ object: { metadata, status } }) => {
        if (!status.certificate) return;
        const known = given.get(metadata.name) ?? status.certificate;
        if (known !== status.certificate) at.fault(`${metadata.name} got two certificates`);
        given.set(metadata.name, known);
        at.seen.add(metadata.name);
      });
    },
    ends: async (at) => [
      [await requestsOf(at), [...at.seen].sort()],
      [[], ["a", "b"]],
    ],
  },
];
