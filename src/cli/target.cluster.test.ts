import assert from "node:assert/strict";
import { test } from "node:test";
import { CustomResourceDefinition } from "#api/apiextensions/custom-resource-definition.ts";
import { Deployment } from "#api/apps/deployment.ts";
import { isConditionTrue } from "#api/meta/condition.ts";
import { startCluster } from "#testing/start-cluster.ts";
import { explain } from "#why/explain.ts";
import { gather } from "#why/gather.ts";
import { findKind, parseTarget } from "./target.ts";

const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
const versions = ["v1", "v2"].map((name) => ({ name, served: true, storage: name === "v1", schema }));

test("orlop why finds custom kinds by all their names, and asks the cluster for no others", async () => {
  await using cluster = await startCluster();
  const { client } = cluster;
  const names = { plural: "crates", kind: "Crate", shortNames: ["cx"] };
  const definition = { metadata: { name: "crates.example.com" }, spec: { group: "example.com", names, versions } };
  await client.create(CustomResourceDefinition, { ...definition, spec: { ...definition.spec, scope: "Namespaced" } });
  await cluster.until(async () => {
    const { status } = await client.get(CustomResourceDefinition, definition.metadata);
    return isConditionTrue(status.conditions, "Established");
  });

  for (const kind of ["crates", "Crate", "cx", "crates.example.com"]) {
    const { group, version, plural, scope } = await findKind(client, kind);
    assert.deepEqual(
      { group, version, plural, scope },
      { ...{ group: "example.com", version: "v2" }, plural: "crates", scope: "Namespaced" },
    );
  }
  const resource = await findKind(client, "crate");
  const metadata = { name: "a", namespace: "default", finalizers: ["example.com/hold"] };
  await client.create(resource, { metadata });
  await client.delete(resource, metadata);
  const { headline } = explain(await gather(client, { resource, ...metadata }, cluster.clock.now()));
  assert.match(headline, /^Crate a cannot be removed because 1 finalizer holds it: example.com\/hold\.$/);

  await assert.rejects(findKind(client, "crats"), /unknown kind "crats"/);
  const raw = () => assert.fail("asked the cluster");
  assert.equal((await findKind({ raw }, "deploy")).schema, Deployment.schema as unknown);
});

for (const words of [[], ["deploy"], ["deploy/"], ["/web"], ["deploy/web", "x"], ["deploy", "web", "x"]]) {
  test(`parseTarget() refuses ${JSON.stringify(words)}`, () => {
    assert.throws(() => parseTarget(words, "why"), /^UserError: name an object: orlop why KIND\/NAME/);
  });
}
