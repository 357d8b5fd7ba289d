import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "#api/core/pod.ts";
import { PatchError, type PatchErrorCode } from "#lib/text/patch-error.ts";
import { ReadCounts } from "#testing/lists/count-reads.ts";
import { strategicMerge } from "./merge.ts";

const results: { name: string; from: Record<string, unknown>; patch: unknown; to: unknown }[] = [
  {
    name: "merges containers by name",
    from: {
      spec: {
        containers: [
          { name: "a", image: "1" },
          { name: "b", image: "1" },
        ],
      },
    },
    patch: { spec: { containers: [{ name: "b", image: "2" }] } },
    to: {
      spec: {
        containers: [
          { image: "1", name: "a" },
          { image: "2", name: "b" },
        ],
      },
    },
  },
  {
    name: "puts a new container first",
    from: { spec: { containers: [{ name: "a" }] } },
    patch: { spec: { containers: [{ name: "b" }] } },
    to: { spec: { containers: [{ name: "b" }, { name: "a" }] } },
  },
  {
    name: "orders containers as the directive says",
    from: { spec: { containers: [{ name: "a" }, { name: "b" }] } },
    patch: { spec: { "$setElementOrder/containers": [{ name: "c" }, { name: "a" }], containers: [{ name: "c" }] } },
    to: { spec: { containers: [{ name: "c" }, { name: "a" }, { name: "b" }] } },
  },
  {
    name: "reorders without a list",
    from: { spec: { containers: [{ name: "a" }, { name: "b" }] } },
    patch: { spec: { "$setElementOrder/containers": [{ name: "b" }, { name: "a" }] } },
    to: { spec: { containers: [{ name: "b" }, { name: "a" }] } },
  },
  {
    name: "deletes a container",
    from: { spec: { containers: [{ name: "a" }, { name: "b" }] } },
    patch: { spec: { containers: [{ name: "a", $patch: "delete" }] } },
    to: { spec: { containers: [{ name: "b" }] } },
  },
  {
    name: "replaces all containers",
    from: { spec: { containers: [{ name: "a" }, { name: "b" }] } },
    patch: { spec: { containers: [{ $patch: "replace" }, { name: "z", image: "1" }] } },
    to: { spec: { containers: [{ image: "1", name: "z" }] } },
  },
  {
    name: "merges ports by number, whatever the protocol",
    from: { spec: { containers: [{ name: "a", ports: [{ containerPort: 80, protocol: "TCP" }] }] } },
    patch: {
      spec: { containers: [{ name: "a", ports: [{ containerPort: 80, protocol: "UDP" }, { containerPort: 81 }] }] },
    },
    to: {
      spec: { containers: [{ name: "a", ports: [{ containerPort: 80, protocol: "UDP" }, { containerPort: 81 }] }] },
    },
  },
  {
    name: "merges env by name",
    from: {
      spec: {
        containers: [
          {
            name: "a",
            env: [
              { name: "X", value: "1" },
              { name: "Y", value: "1" },
            ],
          },
        ],
      },
    },
    patch: {
      spec: {
        containers: [
          { name: "a", env: [{ name: "Y", value: null, valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }] },
        ],
      },
    },
    to: {
      spec: {
        containers: [
          {
            env: [
              { name: "X", value: "1" },
              { name: "Y", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
            ],
            name: "a",
          },
        ],
      },
    },
  },
  {
    name: "replaces arguments",
    from: { spec: { containers: [{ name: "a", args: ["x", "y"] }] } },
    patch: { spec: { containers: [{ name: "a", args: ["z"] }] } },
    to: { spec: { containers: [{ args: ["z"], name: "a" }] } },
  },
  {
    name: "replaces tolerations",
    from: { spec: { tolerations: [{ key: "a" }, { key: "b" }] } },
    patch: { spec: { tolerations: [{ key: "c" }] } },
    to: { spec: { tolerations: [{ key: "c" }] } },
  },
  {
    name: "keeps only the retained keys of a volume",
    from: { spec: { volumes: [{ name: "v", emptyDir: { medium: "Memory" } }] } },
    patch: { spec: { volumes: [{ name: "v", $retainKeys: ["name", "hostPath"], hostPath: { path: "/x" } }] } },
    to: { spec: { volumes: [{ hostPath: { path: "/x" }, name: "v" }] } },
  },
  {
    name: "adds labels and deletes one",
    from: { metadata: { labels: { a: "1", b: "1" } } },
    patch: { metadata: { labels: { a: null, c: "1" } } },
    to: { metadata: { labels: { b: "1", c: "1" } } },
  },
  {
    name: "replaces labels",
    from: { metadata: { labels: { a: "1", b: "1" } } },
    patch: { metadata: { labels: { $patch: "replace", c: "1" } } },
    to: { metadata: { labels: { c: "1" } } },
  },
  {
    name: "empties labels",
    from: { metadata: { labels: { a: "1" } } },
    patch: { metadata: { labels: { $patch: "delete" } } },
    to: { metadata: { labels: {} } },
  },
  {
    name: "adds finalizers once",
    from: { metadata: { finalizers: ["a", "b"] } },
    patch: { metadata: { finalizers: ["b", "c"] } },
    to: { metadata: { finalizers: ["a", "b", "c"] } },
  },
  {
    name: "deletes from finalizers",
    from: { metadata: { finalizers: ["a", "b", "c"] } },
    patch: { metadata: { "$deleteFromPrimitiveList/finalizers": ["b"] } },
    to: { metadata: { finalizers: ["a", "c"] } },
  },
  {
    name: "orders finalizers",
    from: { metadata: { finalizers: ["a", "b", "c"] } },
    patch: { metadata: { "$setElementOrder/finalizers": ["c", "a"] } },
    to: { metadata: { finalizers: ["b", "c", "a"] } },
  },
  {
    name: "merges conditions by type",
    from: {
      status: {
        conditions: [
          { type: "A", status: "True" },
          { type: "B", status: "True" },
        ],
      },
    },
    patch: {
      status: {
        "$setElementOrder/conditions": [{ type: "A" }, { type: "B" }],
        conditions: [{ type: "B", status: "False" }],
      },
    },
    to: {
      status: {
        conditions: [
          { status: "True", type: "A" },
          { status: "False", type: "B" },
        ],
      },
    },
  },
  {
    name: "keeps unknown fields",
    from: { spec: {} },
    patch: { spec: { unknown: { a: null, b: 1 } } },
    to: { spec: { unknown: { b: 1 } } },
  },
  {
    name: "takes new objects without nulls and directives",
    from: { spec: {} },
    patch: {
      spec: {
        securityContext: { runAsUser: null, runAsGroup: 1 },
        containers: [{ name: "a", $patch: "delete" }, { name: "b" }],
      },
    },
    to: { spec: { containers: [{ name: "b" }], securityContext: { runAsGroup: 1 } } },
  },
  {
    name: "removes an object",
    from: { spec: { securityContext: { runAsUser: 1 }, nodeName: "n" } },
    patch: { spec: { securityContext: null } },
    to: { spec: { nodeName: "n" } },
  },
  {
    name: "replaces a probe",
    from: { spec: { containers: [{ name: "a", livenessProbe: { httpGet: { port: 1 }, periodSeconds: 5 } }] } },
    patch: { spec: { containers: [{ name: "a", livenessProbe: { $patch: "replace", exec: { command: ["x"] } } }] } },
    to: { spec: { containers: [{ livenessProbe: { exec: { command: ["x"] } }, name: "a" }] } },
  },
];
for (const { name, from, patch, to } of results) {
  test(`strategicMerge() ${name}`, () => {
    const before = structuredClone({ from, patch });

    assert.deepEqual(strategicMerge(Pod.schema, from, patch), to);

    assert.deepEqual({ from, patch }, before);
  });
}

const faults: { from: Record<string, unknown>; patch: unknown; code: PatchErrorCode; says: string }[] = [
  {
    from: { spec: { containers: [{ name: "a" }] } },
    patch: { spec: { containers: [{ image: "x" }] } },
    code: 500,
    says: "map: map[image:x] does not contain declared merge key: name",
  },
  {
    from: { spec: { containers: [{ name: "a" }] } },
    patch: { spec: { containers: [{ name: "a", $patch: "twist" }] } },
    code: 500,
    says: "unknown patch type: twist in map: map[$patch:twist name:a]",
  },
  {
    from: { spec: { containers: [{ name: "a" }] } },
    patch: { spec: { containers: [{ name: "a", $patch: "merge" }] } },
    code: 500,
    says: "merging lists cannot yet be specified in the patch",
  },
  {
    from: { metadata: { labels: { a: "1" } } },
    patch: { metadata: { labels: { $patch: "merge", b: "1" } } },
    code: 500,
    says: "unknown patch type: merge in map: map[$patch:merge b:1]",
  },
  {
    from: { spec: { containers: [{ name: "a" }, { name: "b" }] } },
    patch: {
      spec: {
        "$setElementOrder/containers": [{ name: "a" }, { name: "b" }],
        containers: [{ name: "b" }, { name: "a" }],
      },
    },
    code: 500,
    says: "The order in patch list:\n[map[name:b] map[name:a]]\n doesn't match $setElementOrder list:\n[map[name:a] map[name:b]]\n",
  },
  {
    from: { spec: { volumes: [{ name: "v", emptyDir: {} }] } },
    patch: { spec: { volumes: [{ name: "v", $retainKeys: ["name"], hostPath: { path: "/x" } }] } },
    code: 400,
    says: "invalid patch format of retainKeys",
  },
  {
    from: { spec: { volumes: [{ name: "v", emptyDir: {} }] } },
    patch: { spec: { volumes: [{ name: "v", $retainKeys: "name" }] } },
    code: 400,
    says: "invalid patch format of retainKeys",
  },
  {
    from: { metadata: { finalizers: ["a"] } },
    patch: { metadata: { $deleteFromPrimitiveList: ["a"] } },
    code: 400,
    says: "invalid patch format of primitive list",
  },
  {
    from: { metadata: { finalizers: ["a"] } },
    patch: { metadata: { $setElementOrder: ["a"] } },
    code: 400,
    says: "invalid patch format of setElementOrder list",
  },
  {
    from: { metadata: { finalizers: ["a"] } },
    patch: { metadata: { finalizers: [{ x: 1 }] } },
    code: 500,
    says: "list element types are not identical: [[a] [map[x:1]]]",
  },
  {
    from: { metadata: { finalizers: ["a"] } },
    patch: { metadata: { finalizers: [["x"]] } },
    code: 500,
    says: "list element types are not identical: [[a] [[x]]]",
  },
  {
    from: { metadata: { finalizers: [] } },
    patch: { metadata: { finalizers: [["x"]] } },
    code: 422,
    says: "lists of lists are not supported",
  },
  {
    from: { spec: {} },
    patch: { spec: { "$setElementOrder/nothing": [] } },
    code: 500,
    says: 'unable to find api field in struct PodSpec for the json field "nothing"',
  },
];
for (const { from, patch, code, says } of faults) {
  test(`strategicMerge() refuses: ${says.trim()}`, () => {
    assert.throws(() => strategicMerge(Pod.schema, from, patch), new PatchError(code, says));
  });
}

test("strategicMerge() refuses a patch that is not an object", () => {
  assert.throws(() => strategicMerge(Pod.schema, {}, []), new PatchError(400, "invalid JSON document"));
});

test("strategicMerge() returns the object itself when nothing changes", () => {
  const from = { metadata: { labels: { a: "1" } }, spec: { containers: [{ name: "a", args: ["x"] }] } };

  assert.equal(
    strategicMerge(Pod.schema, from, { spec: { containers: [{ name: "a", args: ["x"] }], nodeName: null } }),
    from,
  );
});

test("strategicMerge() shares what the patch does not change", () => {
  const from = { spec: { containers: [{ name: "a" }, { name: "b" }] }, status: { phase: "Pending" } };

  const to = strategicMerge(Pod.schema, from, { spec: { containers: [{ name: "b", image: "x" }] } }) as typeof from;

  assert.equal(to.status, from.status);
  assert.equal(to.spec.containers[0], from.spec.containers[0]);
});

const directives: { name: string; make: (at: number) => unknown; patch: (items: unknown[]) => unknown }[] = [
  {
    name: "deletes items",
    make: (at) => ({ name: `c-${at}` }),
    patch: (items) => ({ spec: { containers: items.map((item) => ({ ...(item as object), $patch: "delete" })) } }),
  },
  {
    name: "orders items",
    make: (at) => ({ name: `c-${at}` }),
    patch: (items) => ({ spec: { "$setElementOrder/containers": items, containers: items } }),
  },
  {
    name: "deletes texts",
    make: (at) => `example.com/f-${at}`,
    patch: (items) => ({ metadata: { "$deleteFromPrimitiveList/finalizers": items } }),
  },
];
for (const { name, make, patch } of directives) {
  test(`a directive that ${name} reads each once, however long the lists are`, () => {
    const readsOf = (count: number): number => {
      const reads = new ReadCounts();
      const items = (): unknown[] => Array.from({ length: count }, (_, at) => make(at));
      const object = { metadata: { finalizers: items() }, spec: { containers: items() } };
      strategicMerge(Pod.schema, reads.watch(object), reads.watch(patch(items()) as object));
      return reads.paths().reduce((sum, path) => sum + reads.of(path), 0);
    };

    assert(readsOf(64) < 2.5 * readsOf(32));
  });
}
