import { perCallLimit } from "#cel-kubernetes/environment.ts";
import { type Evaluated, OutOfBudget } from "../../expressions/stage.ts";
import { isConfidential } from "../../record-admission.ts";
import { type Evaluation, meetsConditions, policyBudget, stageFor } from "../evaluate-common.ts";
import { type CompiledAnnotation, type CompiledPolicy, type CompiledValidation } from "./compile-policy.ts";

/** A validation that did not hold or that could not be run. `index` is its place in the policy. */
export interface Failure {
  readonly index: number;
  readonly message: string;
  readonly reason?: string | undefined;
  /** What did not hold, and what the names in it stood for. */
  readonly expression?: string | undefined;
  readonly values?: readonly string[] | undefined;
  /** Why it could not be run; undefined if it did not hold. */
  readonly error?: string | undefined;
  readonly seconds?: number | undefined;
}

/** What a policy says about one request and one object with parameters. */
export interface PolicyResult {
  readonly failures: readonly Failure[];
  readonly annotations: readonly { readonly key: string; readonly value: string }[];
  /** Annotations that could not be made. They refuse the request, whatever the actions of the binding are. */
  readonly faults: readonly string[];
  /** Errors that count for nothing. */
  readonly ignored: readonly { readonly error: string; readonly seconds: number }[];
}

const nothing: PolicyResult = { failures: [], annotations: [], faults: [], ignored: [] };

export interface ValidatingEvaluation extends Evaluation<CompiledPolicy> {
  /** With Ignore, errors count for nothing. */
  readonly failurePolicy: "Fail" | "Ignore";
}

export async function evaluatePolicy(evaluation: ValidatingEvaluation): Promise<PolicyResult> {
  const { failurePolicy } = evaluation;
  const failed = (message: string): PolicyResult =>
    failurePolicy === "Ignore"
      ? { ...nothing, ignored: [{ error: message, seconds: 0 }] }
      : { ...nothing, failures: [{ index: 0, message, error: message }] };
  const { matches, error } = await meetsConditions(evaluation);
  if (error !== undefined) return failed(error);
  if (!matches) return nothing;
  try {
    return { ...(await validate(evaluation)), ...(await annotate(evaluation)) };
  } catch (error) {
    if (error instanceof OutOfBudget) return failed(error.message);
    throw error;
  }
}

const authorizer = ["authorizer", "authorizer.requestResource"];

async function validate(evaluation: ValidatingEvaluation): Promise<Pick<PolicyResult, "failures" | "ignored">> {
  const { policy, failurePolicy } = evaluation;
  const stage = stageFor(evaluation, { budget: policyBudget });
  const results: Evaluated[] = [];
  const seconds: number[] = [];
  for (const { expression } of policy.validations) {
    const startMs = performance.now();
    results.push(await stage.evaluate(expression));
    seconds.push((performance.now() - startMs) / 1000);
  }
  const messages = await messagesFor(evaluation, results, stage.budget);
  const failures: Failure[] = [];
  const ignored: PolicyResult["ignored"][number][] = [];
  for (const [index, validation] of policy.validations.entries()) {
    const { value, error = messages.fault } = results[index] ?? { error: "not evaluated" };
    if (value === true && error === undefined) continue;
    const { expression, reason = "Invalid" } = validation;
    // The first failure decides, so only that one is explained.
    const values = failures.length === 0 && !seesSecrets(evaluation) ? stage.describe(expression) : [];
    const about = { index, expression: expression.source, values, error, seconds: seconds[index] ?? 0 };
    if (error === undefined) {
      failures.push({ ...about, message: messages.texts[index] || usualMessage(validation), reason });
    } else if (failurePolicy === "Fail") failures.push({ ...about, message: error });
    else ignored.push({ error, seconds: about.seconds });
  }
  return { failures, ignored };
}

const seesSecrets = ({ facts: { request, params } }: ValidatingEvaluation): boolean =>
  isConfidential(request.resource) || params?.kind === "Secret";

const usualMessage = ({ message, expression }: CompiledValidation): string =>
  message.trim() || `failed expression: ${expression.source.trim()}`;

interface Messages {
  readonly texts: readonly (string | undefined)[];
  /** The messages cost too much: then all validations count as failed. */
  readonly fault?: string;
}

/**
 * As upstream, all messages are made, because what they cost counts. They are left out if no validation failed and they
 * could not cost too much.
 */
async function messagesFor(
  evaluation: ValidatingEvaluation,
  results: readonly Evaluated[],
  budget: number,
): Promise<Messages> {
  const { validations, variables } = evaluation.policy;
  const count = validations.filter(({ messageExpression }) => messageExpression).length;
  const isAffordable = (count + variables.size) * perCallLimit <= budget;
  if (count === 0 || (isAffordable && results.every(({ value }) => value === true))) return { texts: [] };
  const stage = stageFor(evaluation, { budget, without: authorizer });
  const texts: (string | undefined)[] = [];
  try {
    for (const { messageExpression } of validations) {
      texts.push(messageExpression && messageOf(await stage.evaluate(messageExpression)));
    }
  } catch (error) {
    if (error instanceof OutOfBudget) return { texts: [], fault: `failed messageExpression: ${error.message}` };
    throw error;
  }
  return { texts };
}

const maxMessageBytes = 5 * 1024;

/** undefined if the message cannot be used. */
function messageOf({ value }: Evaluated): string | undefined {
  const text = typeof value === "string" ? value.trim() : "";
  return text.includes("\n") || Buffer.byteLength(text) > maxMessageBytes ? undefined : text;
}

async function annotate(evaluation: ValidatingEvaluation): Promise<Pick<PolicyResult, "annotations" | "faults">> {
  const { policy, failurePolicy } = evaluation;
  const annotations: { key: string; value: string }[] = [];
  const faults: string[] = [];
  if (policy.annotations.length === 0) return { annotations, faults };
  const stage = stageFor(evaluation, { budget: policyBudget, without: authorizer });
  for (const { key, expression } of policy.annotations satisfies readonly CompiledAnnotation[]) {
    const { value, error } = await stage.evaluate(expression);
    if (error !== undefined) {
      if (failurePolicy === "Fail") faults.push(error);
    } else if (typeof value === "string" && value.trim() !== "") annotations.push({ key, value: value.trim() });
  }
  return { annotations, faults };
}
