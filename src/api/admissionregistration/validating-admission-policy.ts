import { ageColumn, numberColumn } from "#api/meta/columns.ts";
import { Condition, validateCondition } from "#api/meta/condition.ts";
import { keepMetadataOfStatus } from "#api/meta/keep-metadata.ts";
import { qualifiedName } from "#api/meta/names.ts";
import { jsonPathFault } from "#lib/text/json-path.ts";
import { embedded, nullable, optional, present } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { atomicList, int64, list, listByKey, string } from "#schema/types.ts";
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
import { Variable } from "./variable.ts";

const object = inPackage("admissionregistration/v1");

const Validation = object("Validation", "A rule that requests must satisfy.", {
  expression: present(1, string(), "CEL expression that is true for valid requests."),
  message: optional(2, string(), "Message for the caller if the validation fails, in one line."),
  reason: nullable(3, string(), "Reason of the refusal: Forbidden, Invalid or RequestEntityTooLarge."),
  messageExpression: optional(4, string(), "CEL expression that gives the message; preferred to message."),
});
interface Validation extends Infer<typeof Validation> {}

const AuditAnnotation = object("AuditAnnotation", "An annotation of the audit event of a request.", {
  key: present(1, string(), "Key of the audit annotation; the name of the policy is put before it."),
  valueExpression: present(2, string(), "CEL expression that gives the annotation's value."),
});
interface AuditAnnotation extends Infer<typeof AuditAnnotation> {}

const ExpressionWarning = object("ExpressionWarning", "A problem that type checking found in an expression.", {
  fieldRef: present(2, string(), "Path of the field with the expression, such as spec.validations[0].expression."),
  warning: present(3, string(), "What is wrong with the types of the expression, for people."),
});
interface ExpressionWarning extends Infer<typeof ExpressionWarning> {}

const TypeChecking = object("TypeChecking", "What type checking of the expressions of a policy found.", {
  expressionWarnings: optional(1, atomicList(ExpressionWarning), "Problems that type checking found in expressions."),
});

const ValidatingAdmissionPolicyStatus = object(
  "ValidatingAdmissionPolicyStatus",
  "What is known about the expressions of a policy.",
  {
    observedGeneration: optional(1, int64(), "Generation of the policy that this status was computed from."),
    typeChecking: nullable(2, TypeChecking, "What type checking found; absent before it is done."),
    conditions: optional(
      3,
      list(Condition, { list: "map", keys: ["type"] }),
      "Conditions of the policy, one for each type.",
    ),
  },
);

const fields = {
  spec: object.embedded(2, "ValidatingAdmissionPolicySpec", "Which requests a policy checks, and how.", {
    ...policyFields,
    validations: optional(3, atomicList(Validation), "Rules that requests must satisfy."),
    failurePolicy: failurePolicy(4),
    auditAnnotations: optional(5, atomicList(AuditAnnotation), "Annotations of audit events, at most 20."),
    variables: optional(7, listByKey("name", Variable), "Variables that later expressions of the policy can use."),
  }),
  status: embedded(3, ValidatingAdmissionPolicyStatus),
};
export interface ValidatingAdmissionPolicy extends ClusterObject<typeof fields> {}

export const ValidatingAdmissionPolicy = defineResource(
  "admissionregistration.k8s.io/v1.ValidatingAdmissionPolicy",
  fields,
  {
    ...policyTraits,
    doc: "Checks requests by CEL expressions.",
    withStatus: () => ({}),
    statusResets: { spec: true, metadata: true },
    columns: [
      numberColumn("Validations", "Number of rules of the policy.", ({ spec }) => spec.validations?.length ?? 0),
      paramKindColumn,
      ageColumn,
    ],
    prepareForStatusUpdate: keepMetadataOfStatus,
    validate: validateValidatingPolicy,
    validateStatusUpdate,
  },
);

function validateValidatingPolicy(policy: Cursor<ValidatingAdmissionPolicy>): void {
  const at = policy.field("spec");
  validatePolicy(at);
  validatePolicyExpressions(at);
  const { validations = [], auditAnnotations = [] } = at.value;
  if (validations.length === 0 && auditAnnotations.length === 0) {
    for (const name of ["validations", "auditAnnotations"] as const) {
      at.field(name).missing("validations or auditAnnotations must contain at least one item");
    }
  }
  at.each("validations", validateValidation);
  validateAuditAnnotations(policy);
}

const reasons = ["Forbidden", "Invalid", "RequestEntityTooLarge"];

function validateValidation(at: Cursor<Validation>): void {
  const { message = "", messageExpression = "", reason } = at.value;
  validateExpression(at.field("expression"), "expression is not specified");
  if (messageExpression && !messageExpression.trim()) {
    at.field("messageExpression").invalid("must be non-empty if specified");
  }
  if (message && !message.trim()) at.field("message").invalid("must be non-empty if specified");
  else if (/[\n\r]/.test(message.trim())) at.field("message").invalid("must not contain line breaks");
  if (reason !== undefined) at.field("reason").oneOf(reasons);
}

const maxAuditAnnotations = 20;
const maxValueExpressionBytes = 5 * 1024;

function validateAuditAnnotations(policy: Cursor<ValidatingAdmissionPolicy>): void {
  const { metadata, spec } = policy.value;
  const at = policy.field("spec");
  const { auditAnnotations = [] } = spec;
  if (auditAnnotations.length > maxAuditAnnotations) {
    at.field("auditAnnotations").invalid(`must not have more than ${maxAuditAnnotations} auditAnnotations`);
  }
  const keys = new Set<string>();
  at.each("auditAnnotations", (at) => {
    validateAuditAnnotation(at, metadata.name);
    at.field("key").unique(keys);
  });
}

function validateAuditAnnotation(at: Cursor<AuditAnnotation>, policyName: string | undefined): void {
  const { key, valueExpression } = at.value;
  if (policyName) at.field("key").rule(qualifiedName, `${policyName}/${key}`);
  else at.field("key").invalid("requires metadata.name be non-empty");
  const expression = valueExpression.trim();
  if (!expression) at.field("valueExpression").missing("valueExpression is not specified");
  else if (Buffer.byteLength(expression) > maxValueExpressionBytes) {
    at.field("valueExpression").missing(`must not exceed ${maxValueExpressionBytes} bytes in length`);
  }
}

function validateStatusUpdate(policy: Cursor<ValidatingAdmissionPolicy>): void {
  const at = policy.field("status");
  const budget = { characters: maxParsedCharacters };
  at.on("typeChecking", (at) => at.each("expressionWarnings", (at) => validateWarning(at, budget)));
  const types = new Set<string>();
  at.each("conditions", (at) => {
    at.field("type").unique(types);
    validateCondition(at);
  });
}

/** Parsing takes a while, so only so much of unusual paths is parsed. */
const maxParsedCharacters = 32_768;
const usualPath = /^[a-z]\w*(?:\.[a-z]\w*|\[[0-9]{1,9}\])*$/i;

function validateWarning(at: Cursor<ExpressionWarning>, budget: { characters: number }): void {
  at.field("warning").required();
  const path = at.value.fieldRef.trim();
  const fieldRef = at.field("fieldRef").as(path);
  if (!fieldRef.required() || usualPath.test(path)) return;
  budget.characters -= path.length;
  if (budget.characters < 0) return fieldRef.tooLong(maxParsedCharacters);
  const fault = jsonPathFault(`{${path}}`);
  if (fault) fieldRef.invalid(`invalid JSONPath: ${fault}`);
}
