import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "#api/core/config-map.ts";
import { Namespace } from "#api/core/namespace.ts";
import { type Resource } from "#api/resource.ts";
import { decodeMetadata, type Expected } from "./decode-metadata.ts";

const remote = (resource: unknown): Resource => ({
  ...(resource as Resource),
  ...{ group: "y.io", isRemote: true, remoteServer: "a/theirs:443" },
});
const owner = { apiVersion: "v1", kind: "ConfigMap", name: "o", uid: "1" };
const good = { name: "x", namespace: "a", uid: "u", resourceVersion: "1" };

test("decodeMetadata() keeps only what controllers need", () => {
  const metadata = { ...good, finalizers: ["a/b"], ownerReferences: [owner] };
  const rest = { annotations: { big: "x".repeat(1 << 20) }, managedFields: 7, labels: [] };

  const { object, bytes } = decodeMetadata(remote(ConfigMap), { metadata: { ...metadata, ...rest }, data: {} });

  assert.deepEqual(object, { metadata });
  assert(bytes < 2000);
});

const hostile: { name: string; raw: unknown; resource?: unknown; expected?: Expected; says?: RegExp }[] = [
  { name: "null", raw: null },
  { name: "a text", raw: "abc" },
  { name: "no metadata", raw: {} },
  { name: "a list as metadata", raw: { metadata: [] } },
  { name: "no name", raw: { metadata: { namespace: "a" } }, says: /its name is not one/ },
  { name: "an object as name", raw: { metadata: { ...good, name: {} } } },
  { name: "a path as name", raw: { metadata: { ...good, name: "../x" } } },
  { name: "dots as name", raw: { metadata: { ...good, name: ".." } } },
  { name: "a long name", raw: { metadata: { ...good, name: "x".repeat(300) } } },
  { name: "no namespace", raw: { metadata: { name: "x" } } },
  { name: "a path as namespace", raw: { metadata: { ...good, namespace: "a/b" } } },
  { name: "a namespace of a cluster-wide kind", raw: { metadata: good }, resource: Namespace },
  { name: "a number as uid", raw: { metadata: { ...good, uid: 7 } } },
  { name: "a text as owners", raw: { metadata: { ...good, ownerReferences: "abc" } } },
  { name: "a text as owner", raw: { metadata: { ...good, ownerReferences: ["x"] } } },
  {
    name: "a number as version of an owner",
    raw: { metadata: { ...good, ownerReferences: [{ ...owner, apiVersion: 7 }] } },
  },
  {
    name: "too many owners",
    raw: {
      metadata: { ...good, ownerReferences: Array.from({ length: 1001 }, (_, at) => ({ ...owner, uid: `${at}` })) },
    },
    says: /ownerReferences has more than 1000 items/,
  },
  { name: "a number as finalizer", raw: { metadata: { ...good, finalizers: [1] } } },
  { name: "too large finalizers", raw: { metadata: { ...good, finalizers: ["x".repeat(1 << 20)] } }, says: /bytes/ },
  { name: "no time of deletion", raw: { metadata: { ...good, deletionTimestamp: "soon" } } },
  { name: "another name", raw: { metadata: good }, expected: { name: "y" }, says: /another object/ },
  { name: "another namespace", raw: { metadata: good }, expected: { namespace: "b" }, says: /another namespace/ },
];
for (const { name, raw, resource = ConfigMap, expected, says = /./ } of hostile) {
  test(`decodeMetadata() refuses ${name}, and names the server`, () => {
    assert.throws(
      () => decodeMetadata(remote(resource), raw, expected),
      (error: Error) => {
        assert.match(error.message, /^the server of y\.io\/v1 \(service a\/theirs:443\) sent a malformed /);
        assert.match(error.message, says);
        assert(error.message.length < 1000);
        return true;
      },
    );
  });
}
