import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "#api/core/pod.ts";
import { build } from "#testing/build.ts";
import { hasStorageLimit, planStorageEvictions } from "./storage-limits.ts";

const mebibyte = 1 << 20;
const limited = (name: string, limit?: string) => ({
  name,
  image: "i",
  ...(limit ? { resources: { limits: { "ephemeral-storage": limit } } } : {}),
});
const aPod = (spec: object) =>
  build(Pod, { metadata: { name: "p", namespace: "n", uid: "u" }, spec: { containers: [limited("c")], ...spec } });
const volumes = [{ name: "x", emptyDir: { sizeLimit: "10Mi" } }];

const cases = [
  { name: "nothing within the limits", spec: { volumes }, volumes: { x: 10 }, containers: { c: 500 } },
  {
    name: "an emptyDir over its limit",
    spec: { volumes },
    volumes: { x: 11 },
    message: 'Usage of EmptyDir volume "x" exceeds the limit "10Mi". ',
  },
  { name: "no emptyDir without a limit", spec: { volumes: [{ name: "x", emptyDir: {} }] }, volumes: { x: 999 } },
  {
    name: "no emptyDir in memory, which the kernel limits",
    spec: { volumes: [{ name: "x", emptyDir: { medium: "Memory", sizeLimit: "1Mi" } }] },
    volumes: { x: 999 },
  },
  {
    name: "a container over its limit",
    spec: { containers: [limited("c", "20Mi"), limited("d", "20Mi")] },
    containers: { c: 21, d: 1 },
    message: 'Container c exceeded its local ephemeral storage limit "20Mi". ',
  },
  {
    name: "a pod over the limits of its containers together",
    spec: { containers: [limited("c", "10Mi"), limited("d", "10Mi")], volumes: [{ name: "x", emptyDir: {} }] },
    volumes: { x: 12 },
    containers: { c: 5, d: 5 },
    message: "Pod ephemeral local storage usage exceeds the total limit of containers 20Mi. ",
  },
  {
    name: "a pod that fills its /etc/hosts",
    spec: { containers: [limited("c", "10Mi")] },
    containers: { c: 5 },
    files: 6,
    message: "Pod ephemeral local storage usage exceeds the total limit of containers 10Mi. ",
  },
  {
    name: "a limit of zero as none",
    spec: { volumes: [{ name: "x", emptyDir: { sizeLimit: "0" } }] },
    volumes: { x: 9 },
  },
];
const bytes = (sizes: Readonly<Record<string, number>> = {}) =>
  new Map(Object.entries(sizes).map(([name, size]) => [name, size * mebibyte]));

for (const { name, spec, message, ...used } of cases) {
  test(`planStorageEvictions() sees ${name}`, () => {
    const { volumes, containers, files = 0 } = used;
    const storage = { volumes: bytes(volumes), containers: bytes(containers), fileBytes: files * mebibyte };

    const evictions = planStorageEvictions([{ pod: aPod(spec), storage }]);

    assert.deepEqual(evictions, message === undefined ? [] : [{ uid: "u", message }]);
  });
}

test("hasStorageLimit() finds the pods that must be measured", () => {
  assert(hasStorageLimit(aPod({ volumes })));
  assert(hasStorageLimit(aPod({ containers: [limited("c", "1Mi")] })));
  assert(!hasStorageLimit(aPod({ volumes: [{ name: "x", emptyDir: {} }] })));
});
