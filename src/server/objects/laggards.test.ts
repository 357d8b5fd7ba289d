import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "#api/core/config-map.ts";
import { codecOf, EncodedObject } from "./encode-once.ts";
import { PastVersions } from "./laggards.ts";

const versionOf = (revision: number, chars = 10): EncodedObject => {
  const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c" }, data: { text: "x".repeat(chars) } };
  return new EncodedObject(codecOf(ConfigMap), revision, { stored: Buffer.from(JSON.stringify(object)) });
};
const replaced = (previous: EncodedObject) => ({
  revision: previous.revision + 1,
  namespace: "",
  type: "put" as const,
  encoded: versionOf(previous.revision + 1),
  previous,
});

test("a past version is shed at once if nobody reads the past", () => {
  const version = versionOf(1);
  new PastVersions().add(replaced(version), false);
  assert(version.isShed);
});

test("the last past versions stay objects while somebody reads the past", () => {
  const past = new PastVersions();
  const versions = Array.from({ length: 300 }, (_, n) => versionOf(n + 1));
  for (const version of versions) past.add(replaced(version), true);
  assert.equal(versions.filter(({ isShed }) => !isShed).length, 256);
  assert(versions[0]?.isShed);

  past.shedAll();
  assert(versions.every(({ isShed }) => isShed));
});

test("large versions do not stay in memory", () => {
  const past = new PastVersions();
  const versions = Array.from({ length: 5 }, (_, n) => versionOf(n + 1, 600_000));
  for (const version of versions) past.add(replaced(version), true);
  assert.equal(versions.filter(({ isShed }) => !isShed).length, 1);
});
