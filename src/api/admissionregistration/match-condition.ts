import { qualifiedName } from "#api/meta/names.ts";
import { present } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { string } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";

const object = inPackage("admissionregistration/v1");

export const MatchCondition = object("MatchCondition", "A condition that a request must satisfy.", {
  name: present(1, string(), "Name of the condition, unique in its list."),
  expression: present(2, string(), "CEL expression that is true for requests that match."),
});
export interface MatchCondition extends Infer<typeof MatchCondition> {}

const maxConditions = 64;

export function validateMatchConditions(owner: Cursor<{ matchConditions?: readonly MatchCondition[] }>): void {
  const { matchConditions = [] } = owner.value;
  if (matchConditions.length > maxConditions) {
    owner.field("matchConditions").tooMany(matchConditions.length, maxConditions);
  }
  const names = new Set<string>();
  owner.each("matchConditions", (at) => {
    validateExpression(at.field("expression"));
    if (!at.field("name").required()) return;
    at.field("name").rule(qualifiedName);
    at.field("name").unique(names);
  });
}

/** The server compiles expressions later. Here, all that can be told is whether there is one. */
export function validateExpression(at: Cursor<string | undefined>, detail?: string): void {
  if (!at.value?.trim()) at.missing(detail);
}
