import assert from "node:assert/strict";
import { test } from "node:test";
import { Deployment } from "#api/apps/deployment.ts";
import { ConfigMap } from "#api/core/config-map.ts";
import { Namespace } from "#api/core/namespace.ts";
import { type ObjectMeta, type OwnerReference } from "#api/meta/object-meta.ts";
import { type ApiObject, type Resource } from "#api/resource.ts";
import { silentLog } from "#lib/process/log.ts";
import { type Informers } from "#runtime/informer.ts";
import { ObjectCache } from "#runtime/object-cache.ts";
import { type GraphDeps, OwnerGraph } from "./owner-graph.ts";
import { type Collectable } from "./owner-kinds.ts";

const reference = (more: Partial<OwnerReference> = {}): OwnerReference => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  name: "owner",
  uid: "1",
  ...more,
});

const object = (name: string, metadata: Partial<ObjectMeta> = {}): ApiObject => ({
  metadata: { name, namespace: "a", uid: name, ...metadata },
});

const any = (resource: unknown): Resource => resource as Resource;
const theirs = (resource: unknown, version: string, remoteServer = "a/theirs:443"): Resource => ({
  ...any(resource),
  ...{ version, isRemote: true, remoteServer },
});

/** A graph of local caches; kinds of other servers are never answered. */
function setUp(collectable: Collectable, broken?: Resource) {
  const caches = new Map<Resource, ObjectCache<ApiObject>>();
  const of = (resource: Resource): ObjectCache<ApiObject> => {
    if (resource === broken) throw new Error("broken");
    const known = caches.get(resource);
    if (known) return known;
    const made = new ObjectCache<ApiObject>(resource, silentLog);
    made.replace([], 1);
    caches.set(resource, made);
    return made;
  };
  const woken: string[] = [];
  const never: AsyncIterable<never> = { [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => undefined) }) };
  const deps = {
    informers: { of } as unknown as Informers,
    client: { watch: () => never },
    collectable: () => collectable,
    log: silentLog,
    clock: { now: () => 0 },
  } as unknown as GraphDeps;
  return { of, woken, graph: new OwnerGraph(deps, ({ name }) => void woken.push(name)) };
}

const { signal } = new AbortController();

test("follow() reads objects one after the other, as all of a kind together may be large", async () => {
  const resource = any(ConfigMap);
  const { of, woken, graph } = setUp({ followed: [resource], served: [resource] });
  const cache = of(resource);
  for (const name of ["x", "y"]) cache.put(object(name, { ownerReferences: [reference()] }));
  cache.list = () => assert.fail("all objects were read at once");

  await graph.follow(signal);

  assert.deepEqual(woken, ["x", "y"]);
});

test("follow() goes on with the other kinds if one cannot be followed", async () => {
  const kinds = [any(Deployment), any(ConfigMap)];
  const { of, graph } = setUp({ followed: kinds, served: kinds }, kinds[0]);
  of(any(ConfigMap)).put(object("x"));

  await graph.follow(signal);

  assert(graph.get({ resource: any(ConfigMap), namespace: "a", name: "x" }));
});

const other = theirs(Deployment, "v2");
const [v3, v4] = [theirs(Deployment, "v3", "a/other:443"), theirs(Deployment, "v4", "a/other:443")];
const local = [any(Deployment), { ...any(Deployment), version: "v1beta1", storedAs: {} } as Resource];
const served: Collectable = { followed: [any(Deployment), other, v3], served: [other, v3, v4, ...local] };

const meanings: [apiVersion: string, kind: string, expected: Resource | undefined][] = [
  ["apps/v1", "Deployment", any(Deployment)],
  ["apps/v1beta1", "Deployment", any(Deployment)],
  ["apps/v2", "Deployment", other],
  ["apps/v3", "Deployment", v3],
  ["apps/v4", "Deployment", v3],
  ["apps/v5", "Deployment", undefined],
  ["v1", "Deployment", undefined],
  ["apps/v1", "ReplicaSet", undefined],
  ["", "", undefined],
];
for (const [apiVersion, kind, expected] of meanings) {
  test(`resourceOf() asks the server of "${apiVersion}" "${kind}"`, () => {
    assert.equal(setUp(served).graph.resourceOf({ apiVersion, kind }), expected);
  });
}

test("a kind of another server does not replace a local one", async () => {
  const { of, woken, graph } = setUp(served);
  of(any(Deployment)).put(object("mine"));

  await graph.follow(signal);

  assert(graph.get({ resource: any(Deployment), namespace: "a", name: "mine" }));
  assert.equal(graph.get({ resource: other, namespace: "a", name: "mine" }), undefined);
  assert.deepEqual(woken, []);
});

const owner = { resource: any(ConfigMap), namespace: "a", name: "owner" };
const claims: { name: string; namespace?: string; claim: Partial<OwnerReference>; isOwned: boolean }[] = [
  { name: "its name", claim: {}, isOwned: true },
  { name: "another name", claim: { name: "other" }, isOwned: false },
  { name: "another kind", claim: { kind: "Namespace" }, isOwned: false },
  { name: "another group", claim: { apiVersion: "apps/v1" }, isOwned: false },
  { name: "a version that nobody serves", claim: { apiVersion: "v2" }, isOwned: false },
  { name: "the version of another server", claim: { apiVersion: "v3" }, isOwned: false },
  { name: "its name, from another namespace", namespace: "b", claim: {}, isOwned: false },
  { name: "its name, from no namespace", namespace: "", claim: {}, isOwned: false },
];
for (const { name, namespace = "a", claim, isOwned } of claims) {
  test(`dependentsOf() with a reference to the uid and ${name}: ${isOwned}`, async () => {
    const kinds = [any(ConfigMap), any(Namespace), theirs(ConfigMap, "v3")];
    const { of, graph } = setUp({ followed: kinds, served: kinds });
    await graph.follow(signal);

    of(any(ConfigMap)).put(object("x", { namespace, ownerReferences: [reference(claim)] }));

    assert.equal(graph.dependentsOf(owner, "1").length, isOwned ? 1 : 0);
  });
}

test("dependentsOf() a cluster-wide owner are in all namespaces", async () => {
  const kinds = [any(ConfigMap), any(Namespace)];
  const { of, graph } = setUp({ followed: kinds, served: kinds });
  await graph.follow(signal);
  const ownerReferences = [reference({ kind: "Namespace" })];
  for (const namespace of ["a", "b"]) of(any(ConfigMap)).put(object("x", { namespace, ownerReferences }));

  const found = graph.dependentsOf({ resource: any(Namespace), namespace: "", name: "owner" }, "1");

  assert.equal(found.length, 2);
});

test("an object that replaces tens of thousands of owners reads each a few times", async () => {
  const resource = any(ConfigMap);
  const { of, graph } = setUp({ followed: [resource], served: [resource] });
  await graph.follow(signal);
  const count = 40_000;
  let reads = 0;
  const owners = (start: string) =>
    Array.from({ length: count }, (_, at) => {
      const { uid: _uid, ...rest } = reference({});
      const get = () => {
        reads++;
        return `${start}${at}`;
      };
      return Object.defineProperty(rest, "uid", { enumerable: true, get }) as OwnerReference;
    });
  of(resource).put(object("x", { ownerReferences: owners("u") }));

  of(resource).put(object("x", { ownerReferences: owners("v") }));

  assert(reads < 20 * count, `${reads} reads`);
  assert.equal(graph.dependentsOf(owner, "u1").length, 0);
  assert.equal(graph.dependentsOf(owner, "v39999").length, 1);
});
