import { type CompiledSelector, compileSelector } from "#cel-kubernetes/devices/compile-selector.ts";
import { inSlices, type Steps } from "#lib/async/turns.ts";
import { type FieldError, forbiddenValue, invalidValue, maxFaults } from "#schema/field-error.ts";
import type { PlacedSelectors } from "./selector-hook.ts";

/** Every selector that cannot be used. Compiling takes a while, so others get their turn. */
export const selectorFaults = (places: readonly PlacedSelectors[]): Promise<FieldError[]> => inSlices(find(places));

function* find(places: readonly PlacedSelectors[]): Steps<FieldError[]> {
  const faults: FieldError[] = [];
  const known = new Map<string, CompiledSelector>();
  for (const [at, selectors = []] of places) {
    for (const [index, { cel }] of selectors.entries()) {
      if (!cel || faults.length >= maxFaults) continue;
      const { expression } = cel;
      const compiled = known.get(expression) ?? compileSelector(expression);
      known.set(expression, compiled);
      yield;
      const path = at.index(index).child("cel", "expression");
      if (compiled.fault?.kind === "forbidden") faults.push(forbiddenValue(path, compiled.fault.message));
      else if (compiled.fault) faults.push(invalidValue(path, expression, compiled.fault.message));
    }
  }
  return faults;
}
