import { type Slice } from "#lib/async/turns.ts";
import { type Metrics } from "#lib/process/metrics.ts";
import { measureConditions } from "../expressions/condition-metrics.ts";
import { type MatchOutcome, matchConditions, matchConditionsBudget } from "../expressions/match-conditions.ts";
import { Stage } from "../expressions/stage.ts";
import { type Facts, valuesOf } from "../expressions/values.ts";
import { type CompiledCommon } from "./compile-common.ts";

/** What the expressions of a policy may cost together. */
export const policyBudget = 10_000_000;

/** One policy, one request and one object with parameters. */
export interface Evaluation<C extends CompiledCommon = CompiledCommon> {
  readonly policy: C;
  readonly facts: Facts;
  readonly slice: Slice;
  /** Where the evaluation of conditions is counted, under the name of the policy. */
  readonly counted: { readonly name: string; readonly metrics: Metrics | undefined };
}

interface StageLimits {
  readonly budget: number;
  /** Values that the expressions do not see. */
  readonly without?: readonly string[];
}

export function stageFor({ policy, facts, slice }: Evaluation, { budget, without = [] }: StageLimits): Stage {
  const values = new Map(valuesOf(facts));
  for (const name of without) {
    if (name === "namespaceObject") values.set(name, null);
    else values.delete(name);
  }
  return new Stage({ values, variables: policy.variables, budget, slice });
}

/** Whether the conditions of the policy hold. As upstream, they do not see the namespace. */
export async function meetsConditions(evaluation: Evaluation): Promise<MatchOutcome> {
  const { conditions } = evaluation.policy;
  if (conditions.length === 0) return { matches: true };
  const stage = stageFor(evaluation, { budget: matchConditionsBudget, without: ["namespaceObject"] });
  const { counted, facts } = evaluation;
  const { operation } = facts.request;
  return await measureConditions(
    counted.metrics,
    { name: counted.name, kind: "policy", type: "validate", operation },
    () => matchConditions(conditions, stage),
  );
}
