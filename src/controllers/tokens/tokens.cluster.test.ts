import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "#api/core/config-map.ts";
import { Namespace } from "#api/core/namespace.ts";
import { Node } from "#api/core/node.ts";
import { Secret } from "#api/core/secret.ts";
import { ServiceAccount } from "#api/core/service-account.ts";
import { controllerUser } from "#cluster/identities.ts";
import { runControllers } from "#controllers/all.ts";
import { chaosSeeds, startChaos } from "#testing/chaos/chaos.ts";
import { type ComponentDeps, startCluster, type TestCluster } from "#testing/start-cluster.ts";

const info = { namespace: "kube-public", name: "cluster-info" };
const base64 = (text: string): string => Buffer.from(text).toString("base64");
const day = 86_400_000;

const addToken = (cluster: TestCluster, id: string, lifeMs: number) =>
  cluster.client.create(Secret, {
    metadata: { namespace: "kube-system", name: `bootstrap-token-${id}` },
    type: "bootstrap.kubernetes.io/token",
    data: {
      "token-id": base64(id),
      "token-secret": base64("0123456789abcdef"),
      "usage-bootstrap-signing": base64("true"),
      expiration: base64(new Date(cluster.clock.now() + lifeMs).toISOString()),
    },
  });

const signers = async (cluster: TestCluster): Promise<string[]> =>
  Object.keys((await cluster.client.get(ConfigMap, info)).data ?? {}).filter((key) => key.startsWith("jws-"));

for (const seed of chaosSeeds(2)) {
  test(`tokens sign the cluster's information until they expire, despite crashes (seed ${seed})`, async () => {
    await using cluster = await startChaos(seed);
    const ensure = (name: string) => cluster.client.create(Namespace, { metadata: { name } }).catch(() => undefined);
    await Promise.all(["kube-public", "kube-system"].map(ensure));
    await cluster.client.create(ConfigMap, { metadata: info, data: { kubeconfig: "server: a" } });
    await addToken(cluster, "aaaaaa", 3_600_000);
    await addToken(cluster, "bbbbbb", 7_200_000);
    await cluster.settle();

    const both = await signers(cluster);
    await cluster.clock.advance(3_700_000);
    const one = await signers(cluster);
    await cluster.client.delete(Secret, { namespace: "kube-system", name: "bootstrap-token-bbbbbb" });
    await cluster.settle();

    assert.deepEqual(both.toSorted(), ["jws-kubeconfig-aaaaaa", "jws-kubeconfig-bbbbbb"]);
    assert.deepEqual(one, ["jws-kubeconfig-bbbbbb"]);
    assert.deepEqual(await signers(cluster), []);
    assert.deepEqual(
      (await cluster.list(Secret, "kube-system")).filter(({ type }) => type?.startsWith("bootstrap")),
      [],
    );
    const node = await cluster.client.get(Node, { name: "node-1" });
    assert.equal(node.metadata.annotations?.["node.alpha.kubernetes.io/ttl"], "0");
  });
}

test("a generated token that nobody uses is marked after a month, and deleted after another", async () => {
  await using cluster = await startCluster({
    controllers: false,
    components: (deps) => [(stop) => runControllers({ ...deps, ...onlyLegacy(deps) }, stop)],
  });
  const tracking = { namespace: "kube-system", name: "kube-apiserver-legacy-service-account-token-tracking" };
  await cluster.client.create(ConfigMap, { metadata: tracking, data: { since: "2026-01-01" } });
  const metadata = { namespace: "default", name: "old" };
  const { uid = "" } = (await cluster.client.create(ServiceAccount, { metadata, secrets: [{ name: "old" }] })).metadata;
  const annotations = { "kubernetes.io/service-account.name": "old", "kubernetes.io/service-account.uid": uid };
  const type = "kubernetes.io/service-account-token";
  await cluster.client.create(Secret, { metadata: { ...metadata, annotations }, type });
  const labelOf = async () =>
    (await cluster.list(Secret, "default"))[0]?.metadata.labels?.["kubernetes.io/legacy-token-invalid-since"];

  await cluster.clock.advance(30 * day);
  const early = await labelOf();
  await cluster.clock.advance(3 * day);
  const marked = await labelOf();
  await cluster.clock.advance(32 * day);

  assert.equal(early, undefined);
  assert.equal(marked, "2026-02-01");
  assert.deepEqual(await cluster.list(Secret, "default"), []);
});

const onlyLegacy = (deps: ComponentDeps) => ({
  clientFor: (account: string) => deps.clientFor(controllerUser(account)),
  rootCa: "certificate",
  legacyTokens: { cleanUpMs: 30 * day },
  runs: (controller: string) => controller === "legacy-serviceaccount-token-cleaner-controller",
});
