import assert from "node:assert/strict";
import { test } from "node:test";
import { Namespace } from "#api/core/namespace.ts";
import { ServiceAccount } from "#api/core/service-account.ts";
import { serviceUnavailable } from "#api/status.ts";
import { type Client } from "#client/client.ts";
import { controllerUser } from "#cluster/identities.ts";
import { startCluster } from "#testing/start-cluster.ts";
import { runControllers } from "./all.ts";

const account = { namespace: "shop", name: "default" };

test("every namespace has a default account, which is created again after deletion", async () => {
  await using cluster = await startCluster();
  await cluster.apply(Namespace, { metadata: { name: "shop" } });
  await cluster.settle();
  const first = await cluster.client.get(ServiceAccount, account);

  await cluster.client.delete(ServiceAccount, account);
  await cluster.settle();

  const second = await cluster.client.get(ServiceAccount, account);
  assert.notEqual(second.metadata.uid, first.metadata.uid);
});

test("a namespace that is being deleted gets no new account", async () => {
  await using cluster = await startCluster();
  await cluster.apply(Namespace, { metadata: { name: "shop" } });
  await cluster.settle();
  const body = { metadata: { finalizers: ["test/hold"] } };
  await cluster.client.patch(ServiceAccount, account, { type: "merge", body });

  await cluster.client.delete(Namespace, { name: "shop" });
  await cluster.client.patch(ServiceAccount, account, { type: "merge", body: { metadata: { finalizers: null } } });
  await cluster.settle();

  assert.deepEqual(await cluster.list(ServiceAccount, "shop"), []);
});

test("an account is created although the response to the first attempt is lost", async () => {
  const lost = new Set<string>();
  /** The account of this controller may create accounts, but not list them. */
  const losing = (client: Client): Client => ({
    ...client,
    async create(resource, object, options) {
      if (resource.plural !== ServiceAccount.plural || lost.has(object.metadata?.namespace ?? "")) {
        return await client.create(resource, object, options);
      }
      lost.add(object.metadata?.namespace ?? "");
      throw serviceUnavailable("the answer was lost");
    },
  });
  await using cluster = await startCluster({
    controllers: false,
    components: (deps) => [
      (stop) => {
        const clientFor = (account: string): Client => losing(deps.clientFor(controllerUser(account)));
        return runControllers({ ...deps, clientFor, rootCa: "", runs: (name) => name.startsWith("serviceacc") }, stop);
      },
    ],
  });

  await cluster.apply(Namespace, { metadata: { name: "shop" } });
  await cluster.settle();

  assert.ok(lost.has("shop"));
  assert.equal((await cluster.client.get(ServiceAccount, account)).metadata.name, "default");
});
