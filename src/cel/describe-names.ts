import type { NamedPart, Program } from "./compile.ts";
import type { Variables } from "./run/frame.ts";
import { ListValue, MapValue, ObjectValue } from "./values/collections.ts";
import { renderValue } from "./values/render.ts";
import type { Value } from "./values/value.ts";

const maxNames = 5;
const maxCharacters = 100;
/** Reading a name costs a few units. */
const costLimit = 100;

/**
 * What the names in an expression stand for: `object.spec.replicas = 5`. For people who wonder about its result, so a few
 * are enough, and what cannot be read is left out.
 */
export function describeNames(program: Program, variables: Variables, isShown = (_: NamedPart) => true): string[] {
  const lines: string[] = [];
  for (const part of program.namedParts()) {
    if (lines.length >= maxNames) break;
    if (!isShown(part)) continue;
    const { value, error } = part.evaluate(variables, costLimit);
    lines.push(
      `${part.name} ${error === undefined ? `= ${shown(value)}` : `has no value: ${error}`}`.slice(0, maxCharacters),
    );
  }
  return lines;
}

function shown(value: Value): string {
  if (typeof value === "string") return JSON.stringify(renderValue(value));
  if (value instanceof ListValue) return `a list of ${value.length}`;
  if (value instanceof MapValue || value instanceof ObjectValue) return `an object with ${value.size} fields`;
  return renderValue(value);
}
