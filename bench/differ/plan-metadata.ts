import { type Tree } from "./samples/sample.ts";
import { type Script, type Step } from "./step.ts";
import { type Target } from "./target.ts";

const owner = { apiVersion: "v1", kind: "ConfigMap", name: "owner", uid: "11111111-2222-3333-4444-555555555555" };
const long = "x".repeat(300);

/** What a client may write into metadata, sound or not. */
const variants: Readonly<Record<string, Tree>> = {
  "no name": { name: undefined },
  "an empty name": { name: "" },
  "capitals in its name": { name: "Upper" },
  "underscores in its name": { name: "under_score" },
  "dots in its name": { name: "a.b" },
  "a slash in its name": { name: "a/b" },
  "a percent sign in its name": { name: "a%b" },
  "a long name": { name: long },
  "a dash at the end of its name": { name: "a-" },
  "a colon in its name": { name: "system:a" },
  "a generated name": { name: undefined, generateName: "made-" },
  "a bad generated name": { name: undefined, generateName: "Made_" },
  "another namespace": { namespace: "other" },
  "a resource version": { resourceVersion: "5" },
  "a uid": { uid: "11111111-2222-3333-4444-555555555555" },
  "a negative generation": { generation: -1 },
  "a bad label key": { labels: { "a b": "c" } },
  "a long label": { labels: { a: long } },
  "a bad label value": { labels: { a: "b c" } },
  "a label key with a bad prefix": { labels: { "Bad_/a": "b" } },
  "a number as label": { labels: { a: 1 } },
  "a bad annotation key": { annotations: { "a b": "c" } },
  "large annotations": { annotations: { a: "x".repeat(300_000) } },
  "a number as annotation": { annotations: { a: 1 } },
  "a finalizer": { finalizers: ["example.com/wait"] },
  "a bad finalizer": { finalizers: ["wait", "a b"] },
  "both dependents finalizers": { finalizers: ["orphan", "foregroundDeletion"] },
  "an owner": { ownerReferences: [owner] },
  "two controllers": {
    ownerReferences: [
      { ...owner, controller: true },
      { ...owner, name: "b", uid: "2", controller: true },
    ],
  },
  "an empty owner": { ownerReferences: [{}] },
  "an event as owner": { ownerReferences: [{ ...owner, kind: "Event" }] },
  "an owner with a bad version": { ownerReferences: [{ ...owner, apiVersion: "a/b/c" }] },
  "bad managed fields": {
    managedFields: [{ manager: "a", operation: "Write", apiVersion: "v1", fieldsType: "FieldsV1", fieldsV1: {} }],
  },
  "a time of creation": { creationTimestamp: "2020-01-01T00:00:00Z" },
  "a bad time of creation": { creationTimestamp: "then" },
  "a time of deletion": { deletionTimestamp: "2020-01-01T00:00:00Z", deletionGracePeriodSeconds: 3 },
  "an unknown field": { nope: 1 },
  "a list as metadata": { "": "list" },
};

/** Dry runs of creates and updates with each variant. */
export function planMetadata({ object, collection, path, isStored }: Target): Script {
  const bodies = Object.entries(variants).map(([name, change]) => ({ name, body: withMetadata(object, change) }));
  const creates: Step[] = bodies.map(({ name, body }) => ({
    name: `create with ${name}`,
    method: "POST",
    path: `${collection}?dryRun=All`,
    body: "name" in (variants[name] ?? {}) ? body : withMetadata(object, { name: "made-here1", ...variants[name] }),
  }));
  if (!isStored) return { name: `metadata ${path}`, steps: [], readOnly: creates };
  const updates: Step[] = bodies.map(({ name, body }) => ({
    name: `update with ${name}`,
    method: "PUT",
    path: `${path}?dryRun=All&fieldValidation=Strict`,
    body,
  }));
  return {
    name: `metadata ${path}`,
    steps: [{ name: "base", method: "POST", path: collection, body: object }],
    readOnly: [...creates, ...updates],
    after: [{ name: "remove", method: "DELETE", path, body: { gracePeriodSeconds: 0 } }],
  };
}

const withMetadata = (object: Target["object"], change: Tree): Tree => ({
  ...object,
  metadata: "" in change ? [] : { ...object.metadata, ...change },
});
