import { type Expression } from "./compile-expression.ts";
import { OutOfBudget, type Stage } from "./stage.ts";

/** What the match conditions of a webhook or of a policy may cost together. */
export const matchConditionsBudget = 2_500_000;

export type MatchOutcome =
  | { readonly matches: boolean; readonly error?: undefined }
  | { readonly matches?: undefined; readonly error: string };

/**
 * Whether all conditions hold. One that does not hold decides, whatever errors there are besides; with errors alone, the
 * failure policy of the caller does.
 */
export async function matchConditions(conditions: readonly Expression[], stage: Stage): Promise<MatchOutcome> {
  const errors: string[] = [];
  let isFalse = false;
  try {
    // As upstream, all of them are run, so that the budget counts all of them.
    for (const condition of conditions) {
      const { value, error } = await stage.evaluate(condition);
      if (error !== undefined) errors.push(error);
      else if (value === false) isFalse = true;
    }
  } catch (error) {
    if (error instanceof OutOfBudget) return { error: error.message };
    throw error;
  }
  if (isFalse) return { matches: false };
  const distinct = [...new Set(errors)];
  if (distinct.length === 0) return { matches: true };
  return { error: distinct.length === 1 ? String(distinct[0]) : `[${distinct.join(", ")}]` };
}
