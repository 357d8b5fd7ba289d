import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "#api/core/config-map.ts";
import { Secret } from "#api/core/secret.ts";
import { ServiceAccount } from "#api/core/service-account.ts";
import { controllerUser } from "#cluster/identities.ts";
import { runControllers } from "#controllers/all.ts";
import { type ComponentDeps, startCluster } from "#testing/start-cluster.ts";

const day = 86_400_000;

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
