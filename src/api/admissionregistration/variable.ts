import { present } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { string } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";
import { validateExpression } from "./match-condition.ts";

export const Variable = inPackage("admissionregistration/v1").atomic(
  "Variable",
  "A named expression that other expressions of a policy can use.",
  {
    name: present(1, string(), "Name of the variable, a CEL identifier. Expressions use it as variables.NAME."),
    expression: present(2, string(), "CEL expression that gives the value of the variable."),
  },
);
export interface Variable extends Infer<typeof Variable> {}

export function validateVariable(at: Cursor<Variable>): void {
  const { name } = at.value;
  if (name.trim() === "") at.field("name").missing("name is not specified");
  else if (!isIdentifier(name)) at.field("name").invalid("must be a valid CEL identifier");
  validateExpression(at.field("expression"), "expression is not specified");
}

const reserved: ReadonlySet<string> = new Set(
  (
    "true false null in as break const continue else for function if import let loop package namespace return " +
    "var void while"
  ).split(" "),
);

const isIdentifier = (name: string): boolean => /^[_a-zA-Z][_a-zA-Z0-9]*$/.test(name) && !reserved.has(name);
