import assert from "node:assert/strict";
import { test } from "node:test";
import { decode } from "#schema/json/decode.ts";
import { strategicMerge } from "#schema/merge.ts";
import { ReadCounts } from "#testing/count-reads.ts";
import { everyKind } from "#testing/every-kind.ts";
import { type Filling, type LongPlace, longPlaces, withLongLists } from "#testing/long-lists.ts";
import { type ApiObject, type Resource } from "./resource.ts";
import { createFaults, prepareUpdate, updateFaults, warningsOf } from "./rules.ts";

/**
 * A list may have tens of thousands of items, so no rule may compare each item with all others. Twice as many items may
 * be read about twice as often, not four times.
 */
const count = 12;
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

function readsOf(step: string, resource: Resource, places: readonly LongPlace[], filling: Filling): ReadCounts {
  const reads = new ReadCounts();
  const sent = withLongLists(resource, places, filling);
  const next = (): ApiObject => {
    const { value } = decode<ApiObject>(resource.schema, structuredClone(sent), { defaults: true });
    return reads.watch(value);
  };
  steps[step]?.(resource, next);
  return reads;
}

/** The lists whose items are read too often, with the numbers of reads. */
function growing(step: string, resource: Resource, places: readonly LongPlace[], filling: Filling): string[] {
  const few = readsOf(step, resource, places, filling);
  const many = readsOf(step, resource, places, { ...filling, count: 2 * filling.count });
  return many
    .paths()
    .filter((path) => many.of(path) > maxGrowth * few.of(path) + count)
    .map((path) => `${step} with ${filling.items} items: ${path} ${few.of(path)} → ${many.of(path)}`);
}

const fillings: readonly Filling[] = [false, true].map((alike) => ({ count, items: "full", alike }));

/** Lists that have the same rules as others: those of probes, of anti-affinity, and of the templates of most kinds. */
const twins = /(startup|readiness)Probe|postStart|podAntiAffinity\.\w+\[]/;
const hasTemplate = new Set(["Deployment", "ReplicaSet", "ReplicationController"]);

for (const resource of everyKind) {
  const all = longPlaces(resource).filter(({ path }) => !twins.test(path));
  const places = hasTemplate.has(resource.kind) ? all.filter(({ path }) => !path.includes("template.spec.")) : all;

  test(`no rule of ${resource.kind} in ${resource.group || "core"} compares the items of a list with one another`, () => {
    const found = Object.keys(steps).flatMap((step) =>
      fillings.flatMap((filling) => growing(step, resource, places, filling)),
    );

    assert.deepEqual(found, []);
  });
}
