import assert from "node:assert/strict";
import { test } from "node:test";
import { Deployment } from "#api/apps/deployment.ts";
import { Pod } from "#api/core/pod.ts";
import { type Resource } from "#api/resource.ts";
import { findAtomics } from "./find-atomics.ts";

const cases: readonly [resource: Pick<Resource, "schema">, value: object, found: readonly string[]][] = [
  [Pod, { metadata: { labels: { a: "b" }, finalizers: ["x"] } }, []],
  [Pod, { spec: { nodeSelector: { a: "b" } } }, [".spec.nodeSelector"]],
  [
    Pod,
    { spec: { containers: [{ name: "a", command: ["sh"], env: [{ name: "A", value: "b" }] }] } },
    [".spec.containers[0].command"],
  ],
  [Pod, { spec: { tolerations: [{ key: "a" }] } }, [".spec.tolerations"]],
  [Pod, { spec: { imagePullSecrets: [{ name: "a" }], hostname: "h" } }, [".spec.imagePullSecrets[0]"]],
  [Deployment, { spec: { replicas: 1, selector: { matchLabels: { a: "b" } } } }, [".spec.selector"]],
];
for (const [{ schema }, value, found] of cases) {
  test(`findAtomics() finds [${found}] in ${JSON.stringify(value)}`, () => {
    assert.deepEqual(findAtomics(schema, value), found);
  });
}

test("findAtomics() stops after a few places", () => {
  const containers = Array.from({ length: 1000 }, (_, index) => ({ name: `c${index}`, args: ["x"] }));

  assert.equal(findAtomics(Pod.schema, { spec: { containers } }).length, 20);
});
