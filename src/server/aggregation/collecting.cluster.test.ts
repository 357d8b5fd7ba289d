import assert from "node:assert/strict";
import { type ServerResponse } from "node:http";
import { test } from "node:test";
import { CustomResourceDefinition } from "#api/apiextensions/custom-resource-definition.ts";
import { ConfigMap } from "#api/core/config-map.ts";
import { type OwnerReference } from "#api/meta/object-meta.ts";
import { type InputOf } from "#api/resource.ts";
import { type Client } from "#client/client.ts";
import { systemClock } from "#lib/async/clock.ts";
import { startCluster } from "#testing/start-cluster.ts";
import { podIp, register, type Serve, startExtension } from "./aggregation.suite.ts";

const skip = podIp === "";
const group = "y.example.com";

const definition = {
  metadata: { name: `gs.${group}` },
  spec: {
    group,
    scope: "Namespaced",
    names: { plural: "gs", kind: "G" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
      },
    ],
  },
} satisfies InputOf<CustomResourceDefinition>;

const bookmark = {
  type: "BOOKMARK",
  object: { metadata: { resourceVersion: "5", annotations: { "k8s.io/initial-events-end": "true" } } },
};

/** Serves a kind of a group in version v2, with these events. Everything else is not found. */
function serving(name: string, kind: string, of: string, events: readonly object[] = []) {
  const requests: string[] = [];
  const streams: ServerResponse[] = [];
  const verbs = ["delete", "get", "list", "patch", "watch"];
  const resources = [{ name, singularName: "", namespaced: true, kind, verbs }];
  const serve: Serve = ({ method, url = "" }, response) => {
    requests.push(`${method} ${url.split("?")[0]}`);
    response.setHeader("content-type", "application/json");
    if (url === `/apis/${of}/v2`) {
      const list = { kind: "APIResourceList", apiVersion: "v1", groupVersion: `${of}/v2`, resources };
      return void response.end(JSON.stringify(list));
    }
    if (url.includes("watch=true")) {
      for (const event of [...events, bookmark]) response.write(`${JSON.stringify(event)}\n`);
      return void streams.push(response);
    }
    const status = {
      kind: "Status",
      apiVersion: "v1",
      status: "Failure",
      reason: "NotFound",
      code: 404,
      message: "no",
    };
    response.writeHead(404).end(JSON.stringify(status));
  };
  return { serve, requests, streams };
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await systemClock.sleep(20);
}

const createMap = (client: Client, name: string, owners: readonly OwnerReference[] = []) =>
  client.create(ConfigMap, { metadata: { name, namespace: "default", ownerReferences: [...owners] } });

const referenceTo = (apiVersion: string, kind: string, { metadata }: ConfigMap): OwnerReference => ({
  ...{ apiVersion, kind, name: metadata.name ?? "", uid: metadata.uid ?? "" },
});

/** Waits until the collector has checked everything that was created before: it deletes an object without an owner. */
async function untilCollected(client: Client): Promise<void> {
  const owner = { apiVersion: "v1", kind: "ConfigMap", name: "nobody", uid: "none" };
  await createMap(client, "last", [owner]);
  const names = async () =>
    (await client.list(ConfigMap, { namespace: "default" })).items.map((one) => one.metadata.name);
  while ((await names()).includes("last")) await systemClock.sleep(20);
}

test("a kind of another server does not speak for the owners of a local kind in another version", {
  skip,
}, async () => {
  const { serve, streams } = serving("gs", "G", group);
  await using extension = await startExtension(serve);
  await using cluster = await startCluster({ clock: "system" });
  const { client } = cluster;
  await client.create(CustomResourceDefinition, definition);
  await until(() => cluster.api.resources.find(group, "v1", "gs") !== undefined);
  const kind = cluster.api.resources.find(group, "v1", "gs");
  assert(kind);
  const mine = await client.create(kind, { metadata: { name: "mine", namespace: "default" } });
  await register(client, extension.port, { group, version: "v2" });
  await until(() => streams.length > 0);

  await createMap(client, "kept", [referenceTo(`${group}/v1`, "G", mine as ConfigMap)]);
  await createMap(client, "unknown", [referenceTo(`${group}/v3`, "G", mine as ConfigMap)]);
  await createMap(client, "gone", [referenceTo(`${group}/v2`, "G", mine as ConfigMap)]);
  await untilCollected(client);
  const list = async () =>
    (await client.list(ConfigMap, { namespace: "default" })).items.map(({ metadata }) => metadata.name);
  // Their server takes longer to answer.
  while ((await list()).includes("gone")) await systemClock.sleep(20);

  const names = await list();
  assert.deepEqual(names, ["kept", "kube-root-ca.crt", "unknown"]);
});

const hostile: { name: string; metadata: unknown }[] = [
  { name: "owners are a text", metadata: { ownerReferences: "abc" } },
  { name: "owners are null", metadata: { ownerReferences: [null] } },
  { name: "version of an owner is a number", metadata: { ownerReferences: [{ ...ownerOf(7) }] } },
  { name: "finalizers are numbers", metadata: { deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [1, 2] } },
  { name: "name is an object", metadata: { name: {} } },
];
function ownerOf(apiVersion: unknown) {
  return { apiVersion, kind: "ConfigMap", name: "x", uid: "u" };
}

test("malformed objects of another server do not disturb garbage collection", { skip, timeout: 20_000 }, async () => {
  const events = hostile.map(({ metadata }, at) => ({
    type: "ADDED",
    object: { metadata: { name: `n${at}`, namespace: "default", uid: `u${at}`, ...(metadata as object) } },
  }));
  const broken = [{ type: "ADDED", object: {} }, { type: "ADDED", object: { metadata: null } }, ...events];
  const { serve, streams } = serving("gs", "G", group, broken);
  await using extension = await startExtension(serve);
  await using cluster = await startCluster({ clock: "system" });
  const { client } = cluster;
  await register(client, extension.port, { group, version: "v2" });
  await until(() => streams.length > 0);
  // A new kind makes the collector look at all owners once more.
  await client.create(CustomResourceDefinition, definition);
  await until(() => cluster.api.resources.find(group, "v1", "gs") !== undefined);
  const kind = cluster.api.resources.find(group, "v1", "gs");
  assert(kind);
  const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "nobody", uid: "none" }];
  await client.create(kind, { metadata: { name: "last", namespace: "default", ownerReferences } });

  while ((await client.list(kind)).items.length > 0) await systemClock.sleep(20);

  await untilCollected(client);
  assert.equal(streams.length, 1, "the watch goes on");
});

test("another server cannot orphan the dependents of an object whose uid it knows", { skip }, async () => {
  const events: object[] = [];
  const { serve, requests } = serving("configmaps", "ConfigMap", group, events);
  await using extension = await startExtension(serve);
  await using cluster = await startCluster({ clock: "system" });
  const { client } = cluster;
  const owner = await createMap(client, "owner");
  await createMap(client, "kept", [referenceTo("v1", "ConfigMap", owner)]);
  const { name, uid } = owner.metadata;
  const deletionTimestamp = "2026-01-01T00:00:00Z";
  const metadata = { name, uid, namespace: "default", resourceVersion: "2", deletionTimestamp, finalizers: ["orphan"] };
  events.push({ type: "ADDED", object: { metadata } });

  await register(client, extension.port, { group, version: "v2" });
  // The collector removes its finalizer last.
  await until(() => requests.includes(`GET /apis/${group}/v2/namespaces/default/configmaps/owner`));
  await untilCollected(client);

  const kept = await client.get(ConfigMap, { namespace: "default", name: "kept" });
  assert.equal(kept.metadata.ownerReferences?.length, 1);
});
