import assert from "node:assert/strict";
import { test } from "node:test";
import { startCluster } from "orlop/testing";
import { seed } from "./web.ts";

const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: shops.example.com }
spec:
  group: example.com
  names: { plural: shops, singular: shop, kind: Shop, listKind: ShopList }
  scope: Namespaced
  conversion: { strategy: None }
  versions:
    - name: v1
      served: true
      storage: true
      schema: &schema
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties: { size: { type: integer, minimum: 1, default: 3 } }
    - name: v1beta1
      served: true
      storage: false
      schema: *schema
`;
const shop = (version: string, size: string) => `
apiVersion: example.com/${version}
kind: Shop
metadata: { name: corner }
spec: { size: ${size} }
`;

test("an object that was written in one version is read in another", async () => {
  await using cluster = await startCluster({ seed });
  await cluster.applyYaml(definition + "---" + shop("v1beta1", "7"));

  const { body } = await cluster.client.raw("GET", "/apis/example.com/v1/namespaces/default/shops/corner");

  const read = JSON.parse(Buffer.from(body).toString());
  assert.deepEqual([read.apiVersion, read.spec.size], ["example.com/v1", 7]);
});

test("a value that the schema forbids is refused, with its path", async () => {
  await using cluster = await startCluster({ seed });
  await cluster.applyYaml(definition);

  await assert.rejects(cluster.applyYaml(shop("v1", "0")), /spec\.size.*greater than or equal to 1/);
});
