import { MutatingWebhookConfiguration } from "#api/admissionregistration/mutating-webhook-configuration.ts";
import { ValidatingWebhookConfiguration } from "#api/admissionregistration/validating-webhook-configuration.ts";
import { type ApiObject, type Resource } from "#api/resource.ts";
import { invalid } from "#api/status.ts";
import { nextTurn } from "#lib/async/turns.ts";
import { type FieldError, invalidValue, maxFaults, root } from "#schema/field-error.ts";
import { type WebhookConfiguration } from "../hook.ts";

const kinds: readonly Resource[] = [
  MutatingWebhookConfiguration as unknown as Resource,
  ValidatingWebhookConfiguration as unknown as Resource,
];

/** Compiles the match conditions of webhooks before they are written. The compiler is loaded when it is needed. */
export const checkConditions = (
  { resource }: { readonly resource: Resource },
  object: ApiObject,
  old: ApiObject | undefined,
): Promise<undefined> | undefined =>
  kinds.includes(resource) && hasConditions(object) ? check(resource, object, old) : undefined;

const webhooksOf = (object: ApiObject | undefined) => (object as WebhookConfiguration | undefined)?.webhooks ?? [];
const hasConditions = (object: ApiObject): boolean =>
  webhooksOf(object).some(({ matchConditions }) => (matchConditions?.length ?? 0) > 0);

async function check(resource: Resource, object: ApiObject, old: ApiObject | undefined): Promise<undefined> {
  const { compileCondition } = await import("./meets-conditions.ts");
  // What is stored already may stay, even if it no longer compiles.
  const known = new Set(webhooksOf(old).flatMap(({ matchConditions }) => matchConditions?.map(textOf) ?? []));
  const faults: FieldError[] = [];
  for (const [hook, { matchConditions = [] }] of webhooksOf(object).entries()) {
    for (const [index, condition] of matchConditions.entries()) {
      if (known.has(textOf(condition)) || faults.length >= maxFaults) continue;
      const compiled = compileCondition(condition.expression);
      const at = root.child("webhooks").index(hook).child("matchConditions").index(index).child("expression");
      if ("fault" in compiled) faults.push(invalidValue(at, condition.expression, compiled.fault));
      else known.add(textOf(condition));
      await nextTurn();
    }
  }
  if (faults.length > 0) throw invalid(resource, object.metadata.name ?? "", faults);
  return undefined;
}

const textOf = ({ expression }: { readonly expression: string }): string => expression;
