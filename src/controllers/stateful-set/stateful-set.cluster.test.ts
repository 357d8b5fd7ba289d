import assert from "node:assert/strict";
import { test } from "node:test";
import { ControllerRevision } from "#api/apps/controller-revision.ts";
import { StatefulSet } from "#api/apps/stateful-set.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { Pod } from "#api/core/pod.ts";
import { type InputOf } from "#api/resource.ts";
import { labels, metadata, startWithNode } from "#testing/one-node.ts";
import { type TestCluster } from "#testing/start-cluster.ts";

const setOf = (image: string, spec: Partial<InputOf<StatefulSet>["spec"]> = {}): InputOf<StatefulSet> => ({
  metadata,
  spec: {
    replicas: 3,
    serviceName: "web",
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [{ name: "web", image }] } },
    ...spec,
  },
});

const images = async (cluster: TestCluster): Promise<string[]> =>
  (await cluster.list(Pod)).map(({ metadata, spec }) => `${metadata.name} ${spec.containers[0]?.image}`);
const statusOf = async (cluster: TestCluster) => (await cluster.client.get(StatefulSet, metadata)).status;

/** In which order pods were created and deleted. */
function history(cluster: TestCluster): string[] {
  const seen: string[] = [];
  cluster.informers.of(Pod).subscribe((change) => {
    const { name } = change.object.metadata;
    if (change.type === "put" && !change.previous) seen.push(`+${name}`);
    if (change.type === "delete") seen.push(`-${name}`);
  });
  return seen;
}

test("a StatefulSet starts its pods in order, updates them from the last, and rolls back", async () => {
  await using cluster = await startWithNode();
  const seen = history(cluster);
  await cluster.apply(StatefulSet, setOf("web:1"));
  await cluster.settle();
  const first = await statusOf(cluster);

  await cluster.apply(StatefulSet, setOf("web:2"));
  await cluster.settle();
  const second = await statusOf(cluster);
  await cluster.apply(StatefulSet, setOf("web:1"));
  await cluster.settle();

  assert.deepEqual(seen.slice(0, 9), [
    "+web-0",
    "+web-1",
    "+web-2",
    "-web-2",
    "+web-2",
    "-web-1",
    "+web-1",
    "-web-0",
    "+web-0",
  ]);
  assert.deepEqual([first.replicas, first.readyReplicas, first.availableReplicas, first.updatedReplicas], [3, 3, 3, 3]);
  assert.equal(first.currentRevision, first.updateRevision);
  assert.equal(second.currentRevision, second.updateRevision);
  assert.notEqual(first.currentRevision, second.currentRevision);
  assert.equal((await statusOf(cluster)).currentRevision, first.currentRevision);
  assert.deepEqual(await images(cluster), ["web-0 web:1", "web-1 web:1", "web-2 web:1"]);
  const revisions = await cluster.list(ControllerRevision);
  assert.deepEqual(revisions.map(({ revision }) => revision).toSorted(), [2, 3]);
  assert(revisions.every(({ metadata }) => metadata.labels?.["controller.kubernetes.io/hash"]));
  const [pod] = await cluster.list(Pod);
  assert.deepEqual([pod?.spec.hostname, pod?.spec.subdomain], ["web-0", "web"]);
  assert.equal(pod?.metadata.labels?.["apps.kubernetes.io/pod-index"], "0");
});

test("a pod that does not become ready holds up those after it, and nothing is lost", async () => {
  await using cluster = await startWithNode({ isReady: ({ metadata }) => metadata.name !== "web-1" });

  await cluster.apply(StatefulSet, setOf("web:1"));
  await cluster.settle();

  assert.deepEqual(await images(cluster), ["web-0 web:1", "web-1 web:1"]);
});

test("a parallel StatefulSet starts and ends its pods at once", async () => {
  await using cluster = await startWithNode({ isReady: () => false });
  await cluster.apply(StatefulSet, setOf("web:1", { podManagementPolicy: "Parallel" }));
  await cluster.settle();
  const started = (await images(cluster)).length;

  await cluster.apply(StatefulSet, setOf("web:1", { podManagementPolicy: "Parallel", replicas: 0 }));
  await cluster.settle();

  assert.deepEqual([started, await images(cluster)], [3, []]);
});

test("a partition keeps the lower pods at the old revision, also when they are replaced", async () => {
  await using cluster = await startWithNode();
  await cluster.apply(StatefulSet, setOf("web:1"));
  await cluster.settle();

  const updateStrategy = { type: "RollingUpdate", rollingUpdate: { partition: 2 } };
  await cluster.apply(StatefulSet, setOf("web:2", { updateStrategy }));
  await cluster.settle();
  await cluster.client.delete(Pod, { namespace: "default", name: "web-0" });
  await cluster.settle();

  assert.deepEqual(await images(cluster), ["web-0 web:1", "web-1 web:1", "web-2 web:2"]);
  const { currentReplicas, updatedReplicas } = await statusOf(cluster);
  assert.deepEqual([currentReplicas, updatedReplicas], [2, 1]);
});

test("with OnDelete, only pods that are deleted are updated", async () => {
  await using cluster = await startWithNode();
  const updateStrategy = { type: "OnDelete" };
  await cluster.apply(StatefulSet, setOf("web:1", { updateStrategy }));
  await cluster.settle();
  await cluster.apply(StatefulSet, setOf("web:2", { updateStrategy }));
  await cluster.settle();

  await cluster.client.delete(Pod, { namespace: "default", name: "web-1" });
  await cluster.settle();

  assert.deepEqual(await images(cluster), ["web-0 web:1", "web-1 web:2", "web-2 web:1"]);
});

const claimed = (policy: { whenScaled?: "Delete"; whenDeleted?: "Delete" }): InputOf<StatefulSet> =>
  setOf("web:1", {
    replicas: 2,
    podManagementPolicy: "Parallel",
    persistentVolumeClaimRetentionPolicy: policy,
    ordinals: { start: 5 },
    volumeClaimTemplates: [
      {
        metadata: { name: "data" },
        spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
      },
    ],
  });

const claimNames = async (cluster: TestCluster): Promise<string[]> =>
  (await cluster.list(PersistentVolumeClaim)).map(({ metadata }) => metadata.name);

test("each pod has its own claims, which outlive it unless the set says otherwise", async () => {
  await using cluster = await startWithNode();
  await cluster.apply(StatefulSet, claimed({ whenScaled: "Delete" }));
  await cluster.settle();
  const pods = await cluster.list(Pod);
  const both = await claimNames(cluster);

  await cluster.apply(StatefulSet, {
    ...claimed({ whenScaled: "Delete" }),
    spec: { ...claimed({ whenScaled: "Delete" }).spec, replicas: 1 },
  });
  await cluster.settle();
  const one = await claimNames(cluster);
  await cluster.client.delete(StatefulSet, metadata);
  await cluster.settle();

  assert.deepEqual(
    pods.map(({ metadata }) => metadata.name),
    ["web-5", "web-6"],
  );
  assert.deepEqual(pods[0]?.spec.volumes?.[0], { name: "data", persistentVolumeClaim: { claimName: "data-web-5" } });
  assert.deepEqual([both, one], [["data-web-5", "data-web-6"], ["data-web-5"]]);
  assert.deepEqual([await cluster.list(Pod), await claimNames(cluster)], [[], ["data-web-5"]]);
});

test("the claims of a deleted set are deleted with it if it says so", async () => {
  await using cluster = await startWithNode();
  await cluster.apply(StatefulSet, claimed({ whenDeleted: "Delete" }));
  await cluster.settle();
  await cluster.client.delete(StatefulSet, metadata);
  await cluster.settle();

  assert.deepEqual([await cluster.list(Pod), await claimNames(cluster)], [[], []]);
});

test("a set that takes over the pods of another goes on with their revisions, and replaces none of them", async () => {
  await using cluster = await startWithNode();
  for (const image of ["web:1", "web:2"]) {
    await cluster.apply(StatefulSet, setOf(image));
    await cluster.settle();
  }
  const uids = async () => (await cluster.list(Pod)).map(({ metadata }) => metadata.uid);
  const before = await uids();

  await cluster.client.delete(StatefulSet, metadata, { propagationPolicy: "Orphan" });
  await cluster.settle();
  await cluster.apply(StatefulSet, setOf("web:2"));
  await cluster.settle();

  const { collisionCount, updatedReplicas, updateRevision } = await statusOf(cluster);
  const revisions = (await cluster.list(ControllerRevision)).toSorted((a, b) => a.revision - b.revision);
  const owners = revisions.map(({ metadata, revision }) => `${revision} ${metadata.ownerReferences?.[0]?.kind}`);
  assert.deepEqual(await uids(), before);
  assert.deepEqual(owners, ["1 StatefulSet", "2 StatefulSet"]);
  assert.deepEqual([collisionCount, updatedReplicas, updateRevision], [0, 3, revisions[1]?.metadata.name]);
});
