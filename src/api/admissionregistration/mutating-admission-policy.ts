import { ageColumn, numberColumn } from "#api/meta/columns.ts";
import { nullable, optional, required } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { atomicList, oneOf, string } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";
import { type ClusterObject, defineResource } from "../resource.ts";
import { validateExpression } from "./match-condition.ts";
import { paramKindColumn } from "./params.ts";
import {
  failurePolicy,
  policyFields,
  policyTraits,
  validatePolicy,
  validatePolicyExpressions,
} from "./policy-fields.ts";
import { refuseDeletions } from "./rule-with-operations.ts";
import { Variable } from "./variable.ts";

const object = inPackage("admissionregistration/v1");

const ApplyConfiguration = object("ApplyConfiguration", "Merges a part of an object as server-side apply does.", {
  expression: optional(1, string(), "CEL expression that gives the part to merge."),
});
const JSONPatch = object("JSONPatch", "Changes an object as a JSON patch does.", {
  expression: optional(1, string(), "CEL expression that gives the operations of the patch."),
});
const Mutation = object("Mutation", "One step of the change that a policy makes.", {
  patchType: required(
    2,
    oneOf("ApplyConfiguration", "JSONPatch"),
    "Type of the change: ApplyConfiguration or JSONPatch.",
  ),
  applyConfiguration: nullable(3, ApplyConfiguration, "Part to merge, if patchType is ApplyConfiguration."),
  jsonPatch: nullable(4, JSONPatch, "Patch to apply, if patchType is JSONPatch."),
});
interface Mutation extends Infer<typeof Mutation> {}

const fields = {
  spec: object.embedded(2, "MutatingAdmissionPolicySpec", "Which requests a policy changes, and how.", {
    ...policyFields,
    variables: optional(3, atomicList(Variable), "Variables that later expressions of the policy can use, in order."),
    mutations: optional(4, atomicList(Mutation), "Changes that the policy makes, in order. Needs at least one."),
    failurePolicy: failurePolicy(5),
    reinvocationPolicy: optional(
      7,
      oneOf("IfNeeded", "Never"),
      "Whether the policy is evaluated again if others changed the object after it: Never or IfNeeded.",
    ),
  }),
};
export interface MutatingAdmissionPolicy extends ClusterObject<typeof fields> {}

export const MutatingAdmissionPolicy = defineResource(
  "admissionregistration.k8s.io/v1.MutatingAdmissionPolicy",
  fields,
  {
    ...policyTraits,
    doc: "Changes requests by CEL expressions.",
    columns: [
      numberColumn("Mutations", "Number of changes of the policy.", ({ spec }) => spec.mutations?.length ?? 0),
      paramKindColumn,
      ageColumn,
    ],
    validate: validateMutatingPolicy,
  },
);

function validateMutatingPolicy(policy: Cursor<MutatingAdmissionPolicy>): void {
  const at = policy.field("spec");
  validatePolicy(at);
  at.on("matchConstraints", refuseDeletions);
  validatePolicyExpressions(at);
  at.field("mutations").required("mutations must contain at least one item");
  at.each("mutations", validateMutation);
  at.field("reinvocationPolicy").required();
}

const members = { ApplyConfiguration: "applyConfiguration", JSONPatch: "jsonPatch" } as const;

/** The schema refuses unknown types of patches. */
function validateMutation(at: Cursor<Mutation>): void {
  const { patchType } = at.value;
  if (!Object.hasOwn(members, patchType)) return;
  const wanted = members[patchType];
  const other = wanted === "jsonPatch" ? "applyConfiguration" : "jsonPatch";
  const value = at.value[wanted];
  if (value) validateExpression(at.field(wanted).as(value).field("expression"));
  else at.field(wanted).missing(`must be specified when patchType is ${patchType}`);
  if (at.value[other]) at.field(other).invalid(`must not be specified when patchType is ${patchType}`, `{${other}}`);
}
