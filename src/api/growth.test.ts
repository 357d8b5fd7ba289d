import assert from "node:assert/strict";
import { test } from "node:test";
import { cloneJson } from "#lib/text/json.ts";
import { decode } from "#schema/json/decode.ts";
import { strategicMerge } from "#schema/merge.ts";
import { everyKind } from "#testing/every-kind.ts";
import { ReadCounts } from "#testing/lists/count-reads.ts";
import { type Filling, longPlaces, withLongLists } from "#testing/lists/long-lists.ts";
import { Pod } from "./core/pod.ts";
import { type ApiObject, type Resource } from "./resource.ts";
import { createFaults, prepareUpdate, updateFaults, warningsOf } from "./rules.ts";

/**
 * A list may have tens of thousands of items, so no rule may compare each item with all others. Twice as many items may
 * be read about twice as often, not four times.
 */
const few = 12;
const maxGrowth = 2.6;

/** What the server does with an object that a client has sent; `next` gives another copy of it. */
const steps: Readonly<Record<string, (resource: Resource, next: () => ApiObject) => void>> = {
  "a create"(resource, next) {
    const object = next();
    resource.prepareForCreate?.(object);
    createFaults(resource, object);
    warningsOf(resource, object, undefined);
  },
  "an update"(resource, next) {
    const change = { object: next(), old: next(), subresource: "" };
    prepareUpdate(resource, change);
    updateFaults(resource, change);
    warningsOf(resource, change.object, change.old);
  },
  "an update of a subresource"(resource, next) {
    for (const { name: subresource, update } of resource.subresources) {
      if (subresource !== "status" && !update) continue;
      const change = { object: next(), old: next(), subresource };
      prepareUpdate(resource, change);
      updateFaults(resource, change);
    }
  },
  "a table and an index"(resource, next) {
    const object = next();
    for (const column of resource.columns) column.value(object, 0);
    for (const getter of Object.values(resource.selectableFields)) getter(object);
    for (const getter of Object.values(resource.indexes)) getter(object);
    resource.rowConditions?.(object);
  },
  "a strategic merge"(resource, next) {
    if (resource.verbs.includes("patch")) strategicMerge(resource.schema, { ...next() }, next());
  },
};

function readsOf(step: string, resource: Resource, sent: object): ReadCounts {
  const reads = new ReadCounts();
  const next = (): ApiObject => {
    const { value } = decode<ApiObject>(resource.schema, cloneJson(sent), { defaults: true });
    return reads.watch(value);
  };
  steps[step]?.(resource, next);
  return reads;
}

/** The lists whose items are read too often, with the numbers of reads. */
function growing(step: string, resource: Resource, make: (count: number) => object, count = few): string[] {
  const once = readsOf(step, resource, make(count));
  const twice = readsOf(step, resource, make(2 * count));
  return twice
    .paths()
    .filter((path) => twice.of(path) > maxGrowth * once.of(path) + count)
    .map((path) => `${step}: ${path} ${once.of(path)} → ${twice.of(path)}`);
}

const fillings: readonly Omit<Filling, "count">[] = [{ items: "full" }, { items: "full", alike: true }];

/** Lists that have the same rules as others: those of probes, of anti-affinity, and of the templates of most kinds. */
const twins = /(startup|readiness)Probe|postStart|podAntiAffinity\.\w+\[]/;
/** Maps of lists, which a strategic merge refuses, as upstream's does. */
const unmergeable = /^spec\.extra/;
const hasTemplate = new Set([
  "CronJob",
  "DaemonSet",
  "Deployment",
  "Job",
  "ReplicaSet",
  "ReplicationController",
  "StatefulSet",
]);

for (const resource of everyKind) {
  const skipped = resource.verbs.includes("patch") ? [twins, unmergeable] : [twins];
  const all = longPlaces(resource).filter(({ path }) => !skipped.some((pattern) => pattern.test(path)));
  const places = hasTemplate.has(resource.kind) ? all.filter(({ path }) => !path.includes("template.spec.")) : all;

  test(`no rule of ${resource.kind} in ${resource.group || "core"} compares the items of a list with one another`, () => {
    const found = Object.keys(steps).flatMap((step) =>
      fillings.flatMap((filling) =>
        growing(step, resource, (count) => withLongLists(resource, places, { ...filling, count })),
      ),
    );

    assert.deepEqual(found, []);
  });
}

/** Lists that only meet where the items of one name those of another. */
const meetings: readonly { name: string; make: (count: number) => { metadata?: object; spec: object } }[] = [
  {
    name: "variables from files and volumes",
    make: (count) => ({
      spec: {
        containers: [
          {
            name: "a",
            image: "a",
            env: each(count, (at) => ({
              name: `E${at}`,
              valueFrom: { fileKeyRef: { volumeName: `v-${at}`, path: "a", key: "a" } },
            })),
          },
        ],
        volumes: each(count, (at) => ({ name: `v-${at}`, emptyDir: {} })),
      },
    }),
  },
  {
    name: "AppArmor annotations and containers",
    make: (count) => ({
      metadata: {
        annotations: Object.fromEntries(
          each(count, (at) => [`container.apparmor.security.beta.kubernetes.io/c-${at}`, "unconfined"]),
        ),
      },
      spec: { containers: each(count, (at) => ({ name: `c-${at}`, image: "a" })) },
    }),
  },
  {
    name: "label keys and conditions",
    make: (count) => ({
      metadata: { labels: Object.fromEntries(each(count, (at) => [`k-${at}`, "a"])) },
      spec: {
        containers: [{ name: "a", image: "a" }],
        topologySpreadConstraints: [
          {
            maxSkew: 1,
            topologyKey: "zone",
            whenUnsatisfiable: "DoNotSchedule",
            labelSelector: { matchExpressions: each(count, (at) => ({ key: `x-${at}`, operator: "Exists" })) },
            matchLabelKeys: each(count, (at) => `k-${at}`),
          },
        ],
      },
    }),
  },
];

function each<T>(count: number, make: (at: number) => T): T[] {
  return Array.from({ length: count }, (_, at) => make(at));
}

for (const { name, make } of meetings) {
  test(`${name} are not compared with one another`, () => {
    const named = (count: number): object => {
      const { metadata, spec } = make(count);
      return { metadata: { name: "a", namespace: "default", ...metadata }, spec };
    };

    assert.deepEqual(growing("a create", Pod, named, 200), []);
  });
}
