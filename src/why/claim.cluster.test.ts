import assert from "node:assert/strict";
import { test } from "node:test";
import { PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { Pod } from "#api/core/pod.ts";
import { type InputOf, type Resource } from "#api/resource.ts";
import { StorageClass } from "#api/storage/storage-class.ts";
import { startCluster } from "#testing/start-cluster.ts";
import { explain } from "./explain.ts";
import { gather } from "./gather.ts";

const namespace = "default";
type Spec = Partial<InputOf<PersistentVolumeClaim>["spec"]>;

test("orlop why explains a claim, and a pod that waits for one", async () => {
  await using cluster = await startCluster({ nodes: 1 });
  const { client } = cluster;
  const volumeBindingMode = "WaitForFirstConsumer" as const;
  await client.create(StorageClass, { metadata: { name: "dead" }, provisioner: "example.com/dead", volumeBindingMode });
  await cluster.settle();
  const claim = (name: string, spec: Spec = {}) =>
    client.create(PersistentVolumeClaim, {
      metadata: { name, namespace },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } }, ...spec },
    });
  const pod = (name: string) =>
    client.create(Pod, {
      metadata: { name, namespace },
      spec: {
        containers: [{ name: "c", image: "i" }],
        volumes: [{ name: "v", persistentVolumeClaim: { claimName: name } }],
      },
    });
  const why = async (resource: typeof Pod | typeof PersistentVolumeClaim, name: string) => {
    const subject = { resource: resource as unknown as Resource, namespace, name };
    const { state, headline, evidence, advice } = explain(await gather(client, subject, cluster.clock.now()));
    return [`${state}: ${headline}`, ...evidence, ...advice].join("\n");
  };
  await claim("idle");
  await claim("classless", { storageClassName: "" });
  await claim("unknown", { storageClassName: "nowhere" });
  await claim("named", { volumeName: "nothing" });
  await client.create(PersistentVolume, {
    metadata: { name: "small" },
    spec: {
      ...{ storageClassName: "manual", capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"] },
      hostPath: { path: "/data" },
    },
  });
  await claim("large", { storageClassName: "manual", resources: { requests: { storage: "2Gi" } } });
  for (const name of ["bound", "stuck", "shared", "gone"]) {
    if (name !== "gone") {
      const shared = name === "shared" ? { accessModes: ["ReadWriteMany"] } : {};
      await claim(name, { ...shared, ...(name === "stuck" ? { storageClassName: "dead" } : {}) });
    }
    await pod(name);
  }
  const read = () => client.get(Pod, { name: "gone", namespace });
  await cluster.until(async () => (await read()).status.conditions?.[0]?.reason === "Unschedulable");
  await cluster.clock.advance(3000);

  const claims: readonly [name: string, says: RegExp][] = [
    ["idle", /^Pending: .*waits for the first pod that uses it/],
    ["classless", /^Pending: .*has no StorageClass, and no free PersistentVolume fits/],
    ["unknown", /^Pending: .*StorageClass nowhere does not exist/],
    [
      "large",
      /^Pending: .*no free PersistentVolume of class manual fits[\s\S]*volume small: requested PV is too small \(1Gi/,
    ],
    ["named", /^Pending: .*waits for volume nothing, which does not exist/],
    ["bound", /^Bound: .*is bound to volume pvc-.* \(1Gi\): nothing is stuck. The data is in /],
    ["stuck", /^Pending: .*waits for a volume from the provisioner example.com\/dead/],
    ["shared", /^Pending: .*access mode ReadWriteMany is not supported/],
  ];
  for (const [name, says] of claims) assert.match(await why(PersistentVolumeClaim, name), says);
  assert.doesNotMatch(await why(PersistentVolumeClaim, "idle"), /belongs to claim/, "volumes in use are no candidates");
  assert.match(await why(Pod, "gone"), /^Unschedulable: .* because PersistentVolumeClaim gone does not exist/);
  assert.match(
    await why(Pod, "stuck"),
    /^Unschedulable: Pod stuck waits for its volume\. .*provisioner example.com\/dead/,
  );
  assert.match(await why(Pod, "shared"), /ReadWriteMany is not supported/);

  await client.delete(PersistentVolumeClaim, { name: "bound", namespace });
  const ending = await why(PersistentVolumeClaim, "bound");
  assert.match(
    ending,
    /^Terminating: .* stays until no pod uses it: bound\.\n[\s\S]*Do not remove the finalizer by hand/,
  );
});
