import { MutatingWebhookConfiguration } from "#api/admissionregistration/mutating-webhook-configuration.ts";
import { ValidatingWebhookConfiguration } from "#api/admissionregistration/validating-webhook-configuration.ts";
import { type ApiObject, type Resource } from "#api/resource.ts";
import { invalid } from "#api/status.ts";
import { inSlices, type Steps } from "#lib/async/turns.ts";
import { type FieldError, root } from "#schema/field-error.ts";
import { type WebhookConfiguration } from "./hook.ts";

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
  const { conditionFaults } = await import("../expressions/condition-faults.ts");
  // What is stored already may stay, even if it no longer compiles.
  const known = new Set(webhooksOf(old).flatMap(({ matchConditions = [] }) => matchConditions.map(expressionOf)));
  const faults: FieldError[] = [];
  function* steps(): Steps<void> {
    for (const [index, { matchConditions }] of webhooksOf(object).entries()) {
      const at = root.child("webhooks").index(index).child("matchConditions");
      yield* conditionFaults({ matchConditions, at, hasParams: false, known }, faults);
    }
  }
  await inSlices(steps());
  if (faults.length > 0) throw invalid(resource, object.metadata.name ?? "", faults);
  return undefined;
}

const expressionOf = ({ expression }: { readonly expression: string }): string => expression;
