import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "#api/core/config-map.ts";
import { type ApiObject, type Resource } from "#api/resource.ts";
import { type Change, type Informer } from "#runtime/informer.ts";
import { type GraphDeps, OwnerGraph } from "./owner-graph.ts";

const orphan = (name: string): ApiObject => {
  const owner = { apiVersion: "v1", kind: "ConfigMap", name: "gone", uid: "gone" };
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, namespace: "a", uid: name, ownerReferences: [owner] },
  };
};

test("follow() reads objects one after the other, as all of a kind together may be large", async () => {
  const resource = ConfigMap as unknown as Resource;
  const informer: Partial<Informer> = {
    resource,
    synced: async () => {},
    get: () => undefined,
    list: () => assert.fail("all objects were read at once"),
    subscribe: (handler: (change: Change<ApiObject>) => void) => {
      for (const name of ["x", "y"]) {
        handler({ type: "put", object: orphan(name), previous: undefined, trace: undefined });
      }
      return () => {};
    },
  };
  const woken: string[] = [];
  const deps = { informers: { of: () => informer } } as unknown as GraphDeps;
  const graph = new OwnerGraph(deps, ({ name }) => void woken.push(name));

  await graph.follow([resource], new AbortController().signal);

  assert.deepEqual(woken, ["x", "y"]);
});
