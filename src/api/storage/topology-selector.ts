import { replacedLabels } from "#api/core/pod/pod-warnings.ts";
import { qualifiedName } from "#api/meta/names.ts";
import { optional, present } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { atomicList, string } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";

const object = inPackage("core/v1");

const Requirement = object("TopologySelectorLabelRequirement", "A condition on a topology label of nodes.", {
  key: present(1, string(), "Key of the topology label that the condition is about."),
  values: present(2, atomicList(string()), "Values of which the topology label must have one."),
});

export const TopologySelectorTerm = object.atomic("TopologySelectorTerm", "Conditions on the topology of a node.", {
  matchLabelExpressions: optional(1, atomicList(Requirement), "Conditions on topology labels. All of them must hold."),
});
export interface TopologySelectorTerm extends Infer<typeof TopologySelectorTerm> {}

/** Checks the terms, of which no two may mean the same. A term without conditions counts as a repetition. */
export function validateTopologies(at: Cursor<{ allowedTopologies?: TopologySelectorTerm[] }>): void {
  const seen = new Set([meaningOf({})]);
  at.each("allowedTopologies", (at) => {
    validateTerm(at);
    const meaning = meaningOf(at.value);
    if (seen.has(meaning)) at.field("matchLabelExpressions").duplicate("");
    seen.add(meaning);
  });
}

function validateTerm(term: Cursor<TopologySelectorTerm>): void {
  const keys = new Set<string>();
  term.each("matchLabelExpressions", (at) => {
    const values = new Set<string>();
    at.field("values").required();
    at.each("values", (at) => at.unique(values));
    at.field("key").rule(qualifiedName);
    at.field("key").unique(keys);
  });
}

/** The same text for terms that select the same nodes. */
function meaningOf({ matchLabelExpressions = [] }: TopologySelectorTerm): string {
  const values = new Map(matchLabelExpressions.map(({ key, values }) => [key, [...new Set(values)].sort()]));
  return JSON.stringify([...values].sort(([a], [b]) => (a < b ? -1 : 1)));
}

export function warnOfTopologies(at: Cursor<{ allowedTopologies?: TopologySelectorTerm[] }>): void {
  at.each("allowedTopologies", (at) =>
    at.each("matchLabelExpressions", (at) => {
      const text = replacedLabels.get(at.value.key);
      if (text) at.field("key").warn(text);
    }),
  );
}
