import assert from "node:assert/strict";
import { test } from "node:test";
import { warningsIn } from "#api/cursor.ts";
import { type Volume } from "./volume.ts";
import { warnOfVolumes } from "./volume-warnings.ts";

const warningsOf = (...volumes: Volume[]): string[] => warningsIn({ volumes }, warnOfVolumes);
const defaultMode = 0o644;
const item = (path: string) => ({ key: "k", path });

const cases: { name: string; volume: Volume; warnings: string[] }[] = [
  {
    name: "files beside one another",
    volume: { name: "v", configMap: { defaultMode, name: "c", items: [item("a"), item("ab"), item("b/a")] } },
    warnings: [],
  },
  {
    name: "a file below another one of a config map",
    volume: { name: "v", configMap: { defaultMode, name: "c", items: [item("a"), item("a/b")] } },
    warnings: ['volume "v" (ConfigMap "c"): overlapping paths: "a/b" with "a"'],
  },
  {
    name: "the same file twice in a secret",
    volume: { name: "v", secret: { defaultMode, secretName: "s", items: [item("a/"), item("a")] } },
    warnings: ['volume "v" (Secret "s"): overlapping paths: "a" with "a"'],
  },
  {
    name: "the same file from two projected sources",
    volume: {
      name: "v",
      projected: {
        defaultMode,
        sources: [
          { serviceAccountToken: { path: "token", expirationSeconds: 3600 } },
          { configMap: { name: "c", items: [item("token")] } },
        ],
      },
    },
    warnings: ['volume "v" (Projected): overlapping paths: "token" (ConfigMap "c") with "token" (ServiceAccountToken)'],
  },
  {
    name: "a projected source that is empty",
    volume: { name: "v", projected: { defaultMode, sources: [{}] } },
    warnings: ['volume "v" (Projected) has no sources provided'],
  },
  {
    name: "a source that no longer works",
    volume: { name: "v", flocker: {} } as Volume,
    warnings: ["volumes[0].flocker: deprecated in v1.22, non-functional in v1.25+"],
  },
];
for (const { name, volume, warnings } of cases) {
  test(`warnings about volumes: ${name}`, () => assert.deepEqual(warningsOf(volume), warnings));
}

test("paths are compared only so often in all volumes together", () => {
  const volume = (name: string, items: { key: string; path: string }[]): Volume => ({
    name,
    configMap: { defaultMode, name: "c", items },
  });
  const some = volume("some", [item("a"), item("a/b")]);
  const many = volume(
    "many",
    Array.from({ length: 300 }, (_, at) => item(`f${at}`)),
  );

  assert.deepEqual([warningsOf(some, many).length, warningsOf(many, some).length], [1, 0]);
});
