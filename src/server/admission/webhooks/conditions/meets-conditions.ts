import { forbidden } from "#api/status.ts";
import { compile, type Outcome, type Program } from "#cel/compile.ts";
import { boolType, sameType } from "#cel/types/type.ts";
import { perCallLimit } from "#cel-kubernetes/environment.ts";
import { type Authorizer } from "#server/authorize/authorizer.ts";
import { type Call } from "../call.ts";
import { type Hook } from "../hook.ts";
import { AccessAnswers } from "./access-answers.ts";
import { conditionEnvironment, conditionVariables } from "./variables.ts";

/** What all conditions of one webhook may cost together, for one request. */
const budget = 2_500_000;
const outOfBudget = "validation failed due to running out of cost budget, no further validation rules will be run";
/** How often an expression may ask something new. What questions cost limits them to fewer. */
const maxRounds = 8;

export type CompiledCondition = { readonly program: Program } | { readonly fault: string };

/** A condition that is ready to run, or why it is none. */
export function compileCondition(expression: string): CompiledCondition {
  const { program, ...failed } = compile(conditionEnvironment(), expression);
  if (!program) return { fault: `compilation failed: ${"message" in failed ? failed.message : ""}` };
  return sameType(program.type, boolType) || program.type.kind === "dyn"
    ? { program }
    : { fault: "must evaluate to bool" };
}

const compiled = new WeakMap<Hook, readonly CompiledCondition[]>();

function conditionsOf(hook: Hook): readonly CompiledCondition[] {
  let conditions = compiled.get(hook);
  if (!conditions) {
    conditions = (hook.webhook.matchConditions ?? []).map(({ expression }) => compileCondition(expression));
    compiled.set(hook, conditions);
  }
  return conditions;
}

/** Whether all conditions of the webhook hold. One that cannot be decided is a failure of the webhook. */
export async function meetsConditions(
  authorizers: readonly Authorizer[],
  call: Omit<Call, "mutates">,
): Promise<boolean> {
  const { hook, request } = call;
  const access = new AccessAnswers(authorizers, request.user);
  const variables = conditionVariables(request, call, access);
  const faults: string[] = [];
  let left = budget;
  for (const [index, condition] of conditionsOf(hook).entries()) {
    if ("fault" in condition) {
      faults.push(condition.fault.replace("compilation failed", "compilation error"));
      continue;
    }
    const outcome = await evaluate(condition.program, variables, access);
    left -= outcome.cost;
    if (left < 0) return failed(call, [outOfBudget]);
    if (outcome.value === false) return false;
    if (outcome.value === true) continue;
    const expression = hook.webhook.matchConditions?.[index]?.expression ?? "";
    faults.push(`expression '${expression}' resulted in error: ${outcome.error ?? "it is not a bool"}`);
  }
  return faults.length === 0 || failed(call, faults);
}

async function evaluate(
  program: Program,
  variables: ReturnType<typeof conditionVariables>,
  access: AccessAnswers,
): Promise<Outcome> {
  for (let round = 1; ; round++) {
    const outcome = program.evaluate(variables, perCallLimit);
    if (!(await access.answer())) return outcome;
    if (round === maxRounds)
      return { error: "too many questions about access", cost: outcome.cost, work: outcome.work };
  }
}

/** Says that the webhook is not called, or refuses the request if its policy is to fail. */
function failed({ hook, request }: Omit<Call, "mutates">, faults: readonly string[]): false {
  if (hook.webhook.failurePolicy === "Ignore") return false;
  const [first = ""] = faults;
  const text = faults.length === 1 ? first : `[${faults.join(", ")}]`;
  throw forbidden(request.resource, request.name, text);
}
