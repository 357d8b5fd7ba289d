import { ControllerRevision } from "#api/apps/controller-revision.ts";
import { DaemonSet } from "#api/apps/daemon-set.ts";
import { Deployment } from "#api/apps/deployment.ts";
import { ReplicaSet } from "#api/apps/replica-set.ts";
import { StatefulSet } from "#api/apps/stateful-set.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { Pod } from "#api/core/pod.ts";
import { ReplicationController } from "#api/core/replication-controller.ts";
import { type Ordeal, type Place } from "#testing/chaos/ordeal.ts";

const labels = { app: "web" };
const selector = { matchLabels: labels };
const templateOf = (image: string) => ({ metadata: { labels }, spec: { containers: [{ name: "web", image }] } });

/** Reports when there are more pods, or fewer, than there may be. */
function keepCount(at: Place, { most = Infinity, fewest = () => 0 }: { most?: number; fewest?(): number }): void {
  const alive = new Set<string>();
  at.follow(Pod, ({ metadata }, type) => {
    if (type === "delete" || metadata.deletionTimestamp) alive.delete(metadata.uid);
    else alive.add(metadata.uid);
    if (alive.size > most * at.leaders) at.fault(`${alive.size} pods`);
    if (alive.size < fewest()) at.fault(`only ${alive.size} pods`);
  });
}

const imagesOf = async (at: Place) => (await at.list(Pod)).map(({ spec }) => spec.containers[0]?.image).sort();
const times = (count: number, image: string): string[] => Array.from({ length: count }, () => image);

const deployment = (image: string, replicas: number) => (at: Place) =>
  at.apply(Deployment, { metadata: at.ref("web"), spec: { replicas, selector, template: templateOf(image) } });
const replicaSet = (replicas: number) => (at: Place) =>
  at.apply(ReplicaSet, { metadata: at.ref("web"), spec: { replicas, selector, template: templateOf("web:1") } });
const replicationController = (replicas: number) => (at: Place) =>
  at.apply(ReplicationController, {
    metadata: at.ref("web"),
    spec: { replicas, selector: labels, template: templateOf("web:1") },
  });
const daemonSet = (image: string) => (at: Place) =>
  at.apply(DaemonSet, {
    metadata: at.ref("web"),
    spec: { selector, template: templateOf(image), updateStrategy: { type: "RollingUpdate" } },
  });
const statefulSet = (image: string, replicas: number) => (at: Place) =>
  at.apply(StatefulSet, {
    metadata: at.ref("web"),
    spec: {
      replicas,
      selector,
      template: templateOf(image),
      volumeClaimTemplates: [
        {
          metadata: { name: "data" },
          spec: { accessModes: ["ReadWriteOnce" as const], resources: { requests: { storage: "1Gi" } } },
        },
      ],
    },
  });

/** A user deletes the first pod. */
const deleteOne = async (at: Place) => {
  const [first] = await at.list(Pod);
  if (first) await at.cluster.client.delete(Pod, first, { gracePeriodSeconds: 0 });
};

export const workloads: readonly Ordeal[] = [
  {
    name: "a rollout stays within its surge",
    controllers: ["deployment-controller", "replicaset-controller"],
    rounds: [deployment("web:1", 12), deployment("web:2", 12), deployment("web:3", 8)],
    watch: (at) => keepCount(at, { most: 15 }),
    async ends(at) {
      const { status } = await at.cluster.client.get(Deployment, at.ref("web"));
      const sets = await at.list(ReplicaSet);
      return [
        [await imagesOf(at), status.availableReplicas, sets.map(({ spec }) => spec.replicas).sort()],
        [times(8, "web:3"), 8, [0, 0, 8]],
      ];
    },
  },
  {
    name: "a ReplicaSet replaces lost pods, and never has more",
    controllers: ["replicaset-controller"],
    rounds: [replicaSet(6), deleteOne, replicaSet(3)],
    watch: (at) => keepCount(at, { most: 6 }),
    async ends(at) {
      const { status } = await at.cluster.client.get(ReplicaSet, at.ref("web"));
      return [
        [(await at.list(Pod)).length, status.readyReplicas],
        [3, 3],
      ];
    },
  },
  {
    name: "a ReplicationController replaces lost pods, and never has more",
    controllers: ["replicationcontroller-controller"],
    rounds: [replicationController(6), deleteOne, replicationController(3)],
    watch: (at) => keepCount(at, { most: 6 }),
    async ends(at) {
      const { status } = await at.cluster.client.get(ReplicationController, at.ref("web"));
      return [
        [(await at.list(Pod)).length, status.readyReplicas],
        [3, 3],
      ];
    },
  },
  {
    name: "a DaemonSet runs one pod of its newest revision on each node",
    controllers: ["daemonset-controller"],
    rounds: [daemonSet("web:1"), daemonSet("web:2"), deleteOne],
    watch(at) {
      const perNode = new Map<string, Set<string>>();
      at.follow(Pod, ({ metadata, spec }, type) => {
        const pods = perNode.get(spec.nodeName ?? "") ?? new Set();
        perNode.set(spec.nodeName ?? "", pods);
        if (type === "delete" || metadata.deletionTimestamp) pods.delete(metadata.uid);
        else pods.add(metadata.uid);
        if (spec.nodeName && pods.size > at.leaders) at.fault(`${pods.size} pods on ${spec.nodeName}`);
      });
    },
    async ends(at) {
      const pods = (await at.list(Pod)).map(({ spec }) => [spec.nodeName, spec.containers[0]?.image].join(" ")).sort();
      const { status } = await at.cluster.client.get(DaemonSet, at.ref("web"));
      const revisions = (await at.list(ControllerRevision)).length;
      const alive = at.nodes.map((node) => `${node} web:2`);
      return [
        [
          pods.filter((pod) => alive.includes(pod)),
          pods.length - alive.length <= 1,
          revisions,
          status.updatedNumberScheduled,
        ],
        [alive, true, 2, status.desiredNumberScheduled],
      ];
    },
  },
  {
    name: "a StatefulSet has each pod once, and keeps its claims",
    controllers: ["statefulset-controller"],
    rounds: [statefulSet("web:1", 4), statefulSet("web:2", 4), statefulSet("web:2", 2)],
    watch(at) {
      const allowed = { fewest: 0 };
      at.follow(StatefulSet, ({ spec, status }) => {
        // One pod is replaced at a time, also while the set becomes smaller.
        if (spec.replicas === 4 && status.readyReplicas === 4) allowed.fewest = 3;
        if (spec.replicas === 2) allowed.fewest = 1;
      });
      const alive = new Set<string>();
      at.follow(Pod, ({ metadata }, type) => {
        if (type === "delete") alive.delete(metadata.name);
        else alive.add(metadata.name);
        if (alive.size < allowed.fewest) at.fault([...alive].join(" "));
      });
    },
    async ends(at) {
      const pods = (await at.list(Pod)).map(({ metadata, spec }) => `${metadata.name} ${spec.containers[0]?.image}`);
      const claims = (await at.list(PersistentVolumeClaim)).length;
      const revisions = (await at.list(ControllerRevision)).length;
      return [
        [pods, claims, revisions],
        [["web-0 web:2", "web-1 web:2"], 4, 2],
      ];
    },
  },
];
