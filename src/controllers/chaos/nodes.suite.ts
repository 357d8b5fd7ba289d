import { Node } from "#api/core/node.ts";
import { isReady } from "#api/core/pod/pod-state.ts";
import { Pod } from "#api/core/pod.ts";
import { findCondition } from "#api/meta/condition.ts";
import { type Ordeal, type Place } from "#testing/chaos/ordeal.ts";

const runOn = (at: Place, name: string, nodeName: string, tolerations: Pod["spec"]["tolerations"] = []) =>
  at.create(Pod, {
    metadata: at.ref(name),
    spec: { nodeName, containers: [{ name: "c", image: "i" }], tolerations: [...tolerations] },
  });
const namesIn = async (at: Place) => (await at.list(Pod)).map(({ metadata }) => metadata.name);

const maintenance = { key: "example.com/maintenance", effect: "NoExecute" as const };
const tolerating = { ...maintenance, operator: "Exists" as const };
const unreachable = {
  key: "node.kubernetes.io/unreachable",
  operator: "Exists" as const,
  effect: "NoExecute" as const,
};
const silent = "node-4";

export const nodes: readonly Ordeal[] = [
  {
    name: "each node has its own range of addresses, and the time for which it may keep secrets",
    controllers: ["node-ipam-controller", "ttl-controller"],
    rounds: [],
    watch(at) {
      const ranges = new Map<string, string>();
      at.cluster.informers.of(Node).subscribe(({ object: { metadata, spec } }) => {
        const known = ranges.get(metadata.name) ?? spec.podCIDR;
        if (known !== spec.podCIDR) at.fault(`${metadata.name} had ${known}`);
        if (known) ranges.set(metadata.name, known);
      });
    },
    async ends(at) {
      const all = await at.cluster.list(Node);
      const ranges = new Set(all.map(({ spec }) => spec.podCIDR));
      const times = all.map(({ metadata }) => metadata.annotations?.["node.alpha.kubernetes.io/ttl"]);
      return [
        [ranges.has(undefined), ranges.size, times],
        [false, all.length, all.map(() => "0")],
      ];
    },
  },
  {
    name: "a silent node is tainted, and loses its pods after their time",
    controllers: ["node-lifecycle-controller", "taint-eviction-controller"],
    rounds: [
      async (at) => {
        await runOn(at, "leaves", silent);
        await runOn(at, "stays", silent, [unreachable]);
        await runOn(at, "elsewhere", "node-1");
      },
      async (at) => void at.nodes.splice(at.nodes.indexOf(silent), 1),
    ],
    async ends(at) {
      const node = await at.cluster.client.get(Node, { name: silent });
      const taints = (node.spec.taints ?? []).map(({ key, effect }) => `${key}:${effect}`).sort();
      const pods = (await at.list(Pod)).map((pod) => `${pod.metadata.name} ${isReady(pod)}`);
      return [
        [taints, findCondition(node.status.conditions, "Ready")?.status, pods],
        [
          ["node.kubernetes.io/unreachable:NoExecute", "node.kubernetes.io/unreachable:NoSchedule"],
          "Unknown",
          ["elsewhere true", "stays false"],
        ],
      ];
    },
  },
  {
    name: "a taint evicts exactly the pods that do not tolerate it",
    controllers: ["taint-eviction-controller"],
    rounds: [
      async (at) => {
        // A node of its own, because the pods of others would have to go as well.
        await at.create(Node, { metadata: { name: at.namespace } });
        // It never sends a heartbeat, which only the pod without tolerations minds.
        const silence = ["not-ready", "unreachable"].map((key) => ({
          ...unreachable,
          key: `node.kubernetes.io/${key}`,
        }));
        await runOn(at, "patient", at.namespace, [tolerating, ...silence]);
        await runOn(at, "other", at.namespace);
      },
      (at) =>
        at.cluster.client.patch(
          Node,
          { name: at.namespace },
          {
            type: "merge",
            body: { spec: { taints: [maintenance] } },
          },
        ),
    ],
    ends: async (at) => [await namesIn(at), ["patient"]],
  },
  {
    name: "the pods of a node that is gone go as well",
    controllers: ["pod-garbage-collector-controller"],
    rounds: [
      async (at) => {
        await at.create(Node, { metadata: { name: at.namespace } });
        await runOn(at, "lost", at.namespace);
        await runOn(at, "kept", "node-1");
      },
      (at) => at.cluster.client.delete(Node, { name: at.namespace }),
    ],
    ends: async (at) => [await namesIn(at), ["kept"]],
  },
];
