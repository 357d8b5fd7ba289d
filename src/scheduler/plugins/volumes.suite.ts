import { Node } from "#api/core/node.ts";
import { PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { type Pod } from "#api/core/pod.ts";
import { type InputOf } from "#api/resource.ts";
import { StorageClass } from "#api/storage/storage-class.ts";
import { build } from "#testing/build.ts";
import { createFakeInformers } from "#testing/fake-informers.ts";
import { makeNode, makePod } from "#testing/scheduling.ts";

/** Nodes, volumes and claims for tests of the plugins that look at volumes. */

export const namespace = "default";
export const informers = createFakeInformers();
export const late = { provisioner: "p", volumeBindingMode: "WaitForFirstConsumer" as const };
informers.put(StorageClass, { metadata: { name: "late" }, ...late });
informers.put(StorageClass, { metadata: { name: "by-hand" }, ...late, provisioner: "kubernetes.io/no-provisioner" });
informers.put(StorageClass, {
  metadata: { name: "in-a" },
  ...late,
  allowedTopologies: [{ matchLabelExpressions: [{ key: "zone", values: ["a"] }] }],
});

type ClaimParts = Partial<InputOf<PersistentVolumeClaim>["spec"]> & { phase?: string; node?: string };
export function claim(name: string, { phase = "Pending", node, ...spec }: ClaimParts): void {
  const annotations = {
    ...(phase === "Bound" ? { "pv.kubernetes.io/bind-completed": "yes" } : {}),
    ...(node ? { "volume.kubernetes.io/selected-node": node } : {}),
  };
  const metadata = { name, namespace, annotations };
  informers.put(PersistentVolumeClaim, build(PersistentVolumeClaim, { metadata, spec, status: { phase } }));
}
const onNode = (name: string) => ({
  required: { nodeSelectorTerms: [{ matchExpressions: [{ key: "host", operator: "In" as const, values: [name] }] }] },
});
export const volume = (
  name: string,
  spec: NonNullable<InputOf<PersistentVolume>["spec"]>,
  labels = {},
  phase = "Bound",
) =>
  informers.put(
    PersistentVolume,
    build(PersistentVolume, {
      metadata: { name, labels },
      spec: { volumeMode: "Filesystem", ...spec },
      status: { phase },
    }),
  );

volume("disk-a", { nodeAffinity: onNode("a") });
volume("disk-zone", {}, { "topology.kubernetes.io/zone": "b__c" });
volume("free-b", { nodeAffinity: onNode("b"), storageClassName: "by-hand" }, {}, "Available");
claim("bound", { volumeName: "disk-a", phase: "Bound" });
claim("zoned", { volumeName: "disk-zone", phase: "Bound" });
claim("lost", { volumeName: "gone", phase: "Lost" });
claim("immediate", { storageClassName: "fast" });
claim("late", { storageClassName: "late" });
claim("chosen", { storageClassName: "late", node: "b" });
claim("orphaned", { storageClassName: "late", node: "gone" });
claim("by-hand", { storageClassName: "by-hand" });
claim("in-a", { storageClassName: "in-a" });
claim("single", { storageClassName: "late", accessModes: ["ReadWriteOncePod"] });

export const nodes = ["a", "b"].map((name) =>
  makeNode(name, { labels: { host: name, zone: name, "topology.kubernetes.io/zone": name } }),
);
for (const node of nodes) informers.put(Node, node);
export const podOf = (...names: string[]): Pod =>
  makePod("web", {
    volumes: names.map((claimName, n) => ({ name: `v${n}`, persistentVolumeClaim: { claimName } })),
  });
