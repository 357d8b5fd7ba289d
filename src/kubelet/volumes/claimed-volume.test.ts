import assert from "node:assert/strict";
import { test } from "node:test";
import { Node } from "#api/core/node.ts";
import { PersistentVolume } from "#api/core/persistent-volume/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { Pod } from "#api/core/pod.ts";
import { type InputOf, type Resource } from "#api/resource.ts";
import { notFound } from "#api/status.ts";
import { type Client } from "#client/client.ts";
import { build } from "#testing/build.ts";
import { claimedVolume } from "./claimed-volume.ts";

const namespace = "shop";
const pod = build(Pod, {
  metadata: { name: "web", namespace, uid: "web-1" },
  spec: {
    containers: [],
    volumes: [
      { name: "a", persistentVolumeClaim: { claimName: "data" } },
      { name: "own", ephemeral: {} },
    ],
  },
});
const claim = (name: string, metadata: InputOf<PersistentVolumeClaim>["metadata"] = {}, phase = "Bound") =>
  build(PersistentVolumeClaim, {
    metadata: { name, namespace, uid: `${name}-1`, ...metadata },
    spec: { volumeName: "disk" },
    status: { phase },
  });
const volume = (claimRef: object | undefined, hostname = "n") =>
  build(PersistentVolume, {
    metadata: { name: "disk" },
    spec: {
      local: { path: "/mnt" },
      ...(claimRef ? { claimRef } : {}),
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: "host", operator: "In", values: [hostname] }] }],
        },
      },
    },
  });
const toData = { namespace, name: "data", uid: "data-1" };
const owner = [{ apiVersion: "v1", kind: "Pod", name: "web", uid: "web-1", controller: true }];

/** A client that has these objects and the node `n`. */
function clientOf(...objects: readonly (PersistentVolumeClaim | PersistentVolume)[]): Client {
  const all = [...objects, build(Node, { metadata: { name: "n", labels: { host: "n" } } })];
  const get = async (resource: Resource, { name }: { name: string }) => {
    const found = all.find((one) => one.kind === resource.kind && one.metadata.name === name);
    if (!found) throw notFound(resource, name);
    return found;
  };
  return { get } as unknown as Client;
}

const ask = (client: Client, name = "data") => claimedVolume({ client, nodeName: "n" }, pod, name);

test("claimedVolume() finds the volume of a bound claim, and of one that was made for the pod", async () => {
  assert.equal((await ask(clientOf(claim("data"), volume(toData)))).name, "disk");
  const own = claim("web-own", { ownerReferences: owner });
  const ofOwn = volume({ namespace, name: "web-own", uid: "web-own-1" });
  assert.equal((await ask(clientOf(own, ofOwn), "web-own")).name, "disk");
});

const deleted = { deletionTimestamp: "2026-01-01T00:00:00Z" };
const refusals: readonly [name: string, Client, claim: string, why: RegExp][] = [
  ["a missing claim", clientOf(), "data", /failed to fetch PVC from API server: .*"data" not found/],
  ["an unbound claim", clientOf(claim("data", {}, "Pending"), volume(toData)), "data", /PVC is not bound/],
  ["a claim that goes", clientOf(claim("data", deleted), volume(toData)), "data", /PVC is being deleted/],
  ["a missing volume", clientOf(claim("data")), "data", /failed to fetch PV disk from API server/],
  ["a volume that names nobody", clientOf(claim("data"), volume(undefined)), "data", /does not point to claim.UID/],
  [
    "a volume of another claim of that name",
    clientOf(claim("data"), volume({ ...toData, uid: "data-0" })),
    "data",
    /ClaimRef.UID "data-0" does not point to claim.UID "data-1"/,
  ],
  ["a volume of another node", clientOf(claim("data"), volume(toData, "m")), "data", /does not match node "n"/],
  ["somebody's claim with the name of its own", clientOf(claim("web-own")), "web-own", /pod is not owner/],
];
for (const [name, client, of, why] of refusals) {
  test(`claimedVolume() refuses ${name}`, async () => {
    await assert.rejects(ask(client, of), { name: "ClaimError", message: why });
  });
}
