import assert from "node:assert/strict";
import { test } from "node:test";
import { Node } from "#api/core/node.ts";
import { Pod } from "#api/core/pod.ts";
import { Service } from "#api/core/service.ts";
import { ServiceAccount } from "#api/core/service-account.ts";
import { type ApiObject } from "#api/resource.ts";
import { endpointSliceController } from "#controllers/endpoint-slice/endpoint-slice.ts";
import { type Informer, type Informers } from "#runtime/informer.ts";
import { runReconcilers } from "#runtime/run-reconciler.ts";
import { startCluster } from "#testing/start-cluster.ts";
import { endpointsController } from "./endpoints.ts";

/** Informers that count the objects that they hand out. */
function counting(informers: Informers, read: (count: number) => void): Informers {
  const wrap = <T extends ApiObject>(inner: Informer<T>): Informer<T> => ({
    resource: inner.resource,
    get revision() {
      return inner.revision;
    },
    get(ref) {
      read(1);
      return inner.get(ref);
    },
    list(namespace) {
      const all = inner.list(namespace);
      read(all.length);
      return all;
    },
    by(index, key) {
      const all = inner.by(index, key);
      read(all.length);
      return all;
    },
    addIndex: (name, keysOf) => inner.addIndex(name, keysOf),
    subscribe: (handler) => inner.subscribe(handler),
    synced: (signal) => inner.synced(signal),
    caughtUpTo: (revision, signal) => inner.caughtUpTo(revision, signal),
  });
  const known = new Map<object, Informer>();
  return {
    of(resource, scope) {
      const inner = informers.of(resource, scope) as unknown as Informer;
      const wrapped = known.get(inner) ?? wrap(inner);
      known.set(inner, wrapped);
      return wrapped as never;
    },
    synced: (signal) => informers.synced(signal),
    async [Symbol.asyncDispose]() {},
  };
}

/** How many objects are read when one pod of a service turns ready. */
async function readsFor(services: number, podsEach: number): Promise<number> {
  let reads = 0;
  await using cluster = await startCluster({
    controllers: false,
    components: (deps) => [
      (stop) => {
        const informers = counting(deps.informers, (count) => {
          reads += count;
        });
        return runReconcilers([endpointSliceController, endpointsController], { ...deps, informers }, stop);
      },
    ],
  });
  const { client } = cluster;
  await client.create(ServiceAccount, { metadata: { namespace: "default", name: "default" } });
  await client.create(Node, { metadata: { name: "n1" } });
  const of = (service: number) => ({ tier: "web", app: `app-${service}` });
  for (let service = 0; service < services; service++) {
    const metadata = { namespace: "default", name: `s${service}` };
    await client.create(Service, {
      metadata,
      spec: { selector: of(service), ports: [{ port: 80 }] },
    });
    for (let index = 0; index < podsEach; index++) {
      const pod = {
        metadata: { namespace: "default", name: `p${service}-${index}`, labels: of(service) },
        spec: { containers: [{ name: "c", image: "i" }], nodeName: "n1" },
      };
      const created = await client.create(Pod, pod);
      const ip = `10.1.${service}.${index + 1}`;
      await client.updateStatus(Pod, { ...created, status: { ...created.status, podIP: ip, podIPs: [{ ip }] } });
    }
  }
  await cluster.settle();
  reads = 0;
  const pod = await client.get(Pod, { namespace: "default", name: "p0-0" });
  await client.updateStatus(Pod, {
    ...pod,
    status: { ...pod.status, conditions: [{ type: "Ready", status: "True" }] },
  });
  await cluster.settle();
  return reads;
}

test("a pod that turns ready costs work in proportion to its service, not to the namespace", async () => {
  const few = await readsFor(2, 5);
  const manyOthers = await readsFor(40, 5);
  const larger = await readsFor(2, 20);

  assert.ok(few > 5, `${few} reads`);
  assert.equal(manyOthers, few);
  assert.ok(larger > few && larger <= few * 4, `${larger} reads for 20 pods, ${few} for 5`);
});
