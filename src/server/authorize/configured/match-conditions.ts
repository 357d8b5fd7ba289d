import { type SubjectAccessReviewSpec } from "#api/authorization/subject-access-review.ts";
import { compile, type Program } from "#cel/compile.ts";
import { fixedStruct } from "#cel/types/fixed-struct.ts";
import { listType, mapType, stringType, type Type } from "#cel/types/type.ts";
import { valueFor } from "#cel/values/data.ts";
import { kubernetesEnvironment, perCallLimit } from "#cel-kubernetes/environment.ts";
import { inSlices, Slice, type Steps } from "#lib/async/turns.ts";
import { type FieldError, type FieldPath, invalidValue } from "#schema/field-error.ts";

const texts = listType(stringType);
const requirements = listType(
  fixedStruct("kubernetes.SelectorRequirement", { key: stringType, operator: stringType, values: texts }),
);
const selector = (name: string): Type => fixedStruct(`kubernetes.${name}`, { rawSelector: stringType, requirements });

const requestType = fixedStruct("kubernetes.SubjectAccessReviewSpec", {
  resourceAttributes: fixedStruct("kubernetes.ResourceAttributes", {
    namespace: stringType,
    verb: stringType,
    group: stringType,
    version: stringType,
    resource: stringType,
    subresource: stringType,
    name: stringType,
    fieldSelector: selector("FieldSelectorAttributes"),
    labelSelector: selector("LabelSelectorAttributes"),
  }),
  nonResourceAttributes: fixedStruct("kubernetes.NonResourceAttributes", { path: stringType, verb: stringType }),
  user: stringType,
  groups: texts,
  extra: mapType(stringType, texts),
  uid: stringType,
});
const environment = kubernetesEnvironment().extend({ variables: { request: requestType } });

interface Condition {
  readonly expression?: string | undefined;
}

/** Every condition that cannot be used. `at` is the list. */
export const conditionFaults = (conditions: readonly Condition[], at: FieldPath): FieldError[] =>
  conditions.flatMap(({ expression = "" }, index) => {
    if (expression.trim() === "") return [];
    const fault = faultOf(expression);
    return fault === undefined ? [] : [invalidValue(at.index(index).child("expression"), expression, fault)];
  });

function faultOf(expression: string): string | undefined {
  const { program, ...failed } = compile(environment, expression);
  if (!program) return `compilation failed: ${"message" in failed ? failed.message : ""}`;
  const { kind, name } = program.type;
  return kind === "bool" ? undefined : `must evaluate to bool but got ${name}`;
}

export type Matched = { readonly matches: boolean } | { readonly error: string };
/** Whether a webhook is to be asked about a request. */
export type Match = (spec: SubjectAccessReviewSpec) => Matched | Promise<Matched>;

/** The conditions of a webhook, which have been checked before. One that does not hold decides. */
export function compileConditions(conditions: readonly Condition[]): Match {
  const compiled = conditions.flatMap(({ expression = "" }) => {
    const { program } = compile(environment, expression);
    return program ? [{ expression, program }] : [];
  });
  return (spec) => {
    const steps = evaluate(compiled, spec);
    const slice = new Slice();
    for (;;) {
      const { done, value } = steps.next();
      if (done) return value;
      // The names in a request decide how long its conditions take.
      if (slice.isOver) return inSlices(steps);
    }
  };
}

function* evaluate(
  conditions: readonly { readonly expression: string; readonly program: Program }[],
  spec: SubjectAccessReviewSpec,
): Steps<Matched> {
  const variables = new Map([["request", valueFor(requestType, requestOf(spec))]]);
  const errors: string[] = [];
  for (const { expression, program } of conditions) {
    const { value, error } = program.evaluate(variables, perCallLimit);
    if (value === false) return { matches: false };
    if (error !== undefined)
      errors.push(`cel evaluation error: expression '${expression}' resulted in error: ${error}`);
    yield;
  }
  if (errors.length === 0) return { matches: true };
  return { error: errors.length === 1 ? String(errors[0]) : `[${errors.join(", ")}]` };
}

const attributes = { namespace: "", verb: "", group: "", version: "", resource: "", subresource: "", name: "" };

/** As upstream, texts that are empty are there, so that conditions need not ask for them. */
function requestOf({ resourceAttributes, nonResourceAttributes, ...spec }: SubjectAccessReviewSpec): object {
  return {
    user: "",
    groups: [],
    extra: {},
    uid: "",
    ...spec,
    ...(resourceAttributes ? { resourceAttributes: { ...attributes, ...resourceAttributes } } : {}),
    ...(nonResourceAttributes ? { nonResourceAttributes: { path: "", verb: "", ...nonResourceAttributes } } : {}),
  };
}
