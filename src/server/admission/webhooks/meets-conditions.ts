import { forbidden } from "#api/status.ts";
import { inTurns, type Slice, type Steps } from "#lib/async/turns.ts";
import { type Metrics } from "#lib/process/metrics.ts";
import { type Authorizer } from "#server/authorize/authorizer.ts";
import { RequestAccess } from "../expressions/access.ts";
import { compileExpression, type Expression } from "../expressions/compile-expression.ts";
import { measureConditions } from "../expressions/condition-metrics.ts";
import { admissionEnvironment } from "../expressions/environment.ts";
import { matchConditions, matchConditionsBudget } from "../expressions/match-conditions.ts";
import { Stage } from "../expressions/stage.ts";
import { valuesOf } from "../expressions/values.ts";
import { type SentRequest } from "../matching/sent-request.ts";
import { type Hook } from "./hook.ts";

const compiled = new WeakMap<Hook, Promise<readonly Expression[]>>();

/** The conditions of a webhook, compiled once. */
function conditionsOf(hook: Hook): Promise<readonly Expression[]> {
  let conditions = compiled.get(hook);
  if (!conditions) {
    conditions = inTurns(compileSteps(hook));
    compiled.set(hook, conditions);
  }
  return conditions;
}

function* compileSteps({ webhook }: Hook): Steps<readonly Expression[]> {
  const environment = admissionEnvironment({ params: false, authorizer: true });
  const conditions: Expression[] = [];
  for (const { expression } of webhook.matchConditions ?? []) {
    conditions.push(compileExpression(environment, expression, "bool"));
    yield;
  }
  return conditions;
}

export interface ConditionalCall {
  readonly hook: Hook;
  /** What the webhook would get. */
  readonly view: SentRequest;
  /** What the caller sent. */
  readonly original: SentRequest;
  readonly slice: Slice;
}

export interface ConditionDeps {
  readonly authorizers: readonly Authorizer[];
  readonly allMetrics?: Metrics | undefined;
  /** What type of webhook it is, in metrics. */
  readonly type: "admit" | "validating";
}

/**
 * Whether all conditions of the webhook hold. If that cannot be decided, the webhook is not called, and the request is
 * refused unless the webhook's policy is to ignore failures.
 */
export async function meetsConditions(
  { authorizers, allMetrics, type }: ConditionDeps,
  { hook, view, original, slice }: ConditionalCall,
): Promise<boolean> {
  const access = new RequestAccess(authorizers, original.user);
  // As upstream, conditions do not see the namespace.
  const values = valuesOf({ request: view, sent: original, access });
  const stage = new Stage({ values, budget: matchConditionsBudget, slice });
  const conditions = await conditionsOf(hook);
  const about = { name: hook.webhook.name, kind: "webhook", type, operation: view.operation } as const;
  const { matches = false, error } = await measureConditions(allMetrics, about, () =>
    matchConditions(conditions, stage),
  );
  if (error === undefined || hook.webhook.failurePolicy === "Ignore") return matches;
  throw forbidden(original.resource, original.name, error);
}
