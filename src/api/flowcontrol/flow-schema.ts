import { type Cursor } from "#api/cursor.ts";
import { ageColumn, column } from "#api/meta/columns.ts";
import { dns1123Subdomain } from "#api/meta/names.ts";
import { type ClusterObject, defineResource } from "#api/resource.ts";
import { equal } from "#lib/data/equal.ts";
import { own } from "#lib/data/own.ts";
import { defaulted, embedded, optional, present, written } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { atomicList, int32, string } from "#schema/types.ts";
import { keepMetadata, statusOf, statusResets, validateStatus } from "./flow-status.ts";
import { PolicyRulesWithSubjects, validatePolicyRules } from "./policy-rules.ts";

const object = inPackage("flowcontrol/v1");

const defaultPrecedence = 1000;
const maxPrecedence = 10_000;

const doc = "Which requests belong to a FlowSchema, and which priority level they have.";
const FlowSchemaSpec = object.filledBy(setPrecedence, "FlowSchemaSpec", doc, {
  priorityLevelConfiguration: object.present(
    1,
    "PriorityLevelConfigurationReference",
    "PriorityLevelConfiguration that the requests of the FlowSchema have.",
    { name: present(1, string(), "Name of the PriorityLevelConfiguration.") },
  ),
  matchingPrecedence: written(
    defaulted(2, int32(), defaultPrecedence, "Order of the FlowSchemas, 1 to 10000: the lowest that matches counts."),
  ),
  distinguisherMethod: object.nullable(
    3,
    "FlowDistinguisherMethod",
    "How the requests of the FlowSchema are divided into flows; they are one flow if absent.",
    { type: present(1, string(), "What the requests of one flow have in common: ByUser or ByNamespace.") },
  ),
  rules: optional(
    4,
    atomicList(PolicyRulesWithSubjects),
    "Requests that belong to the FlowSchema: those that match any.",
  ),
});
interface FlowSchemaSpec extends Infer<typeof FlowSchemaSpec> {}

/** In Go, no number and 0 are the same. */
function setPrecedence(spec: { matchingPrecedence: number }): void {
  spec.matchingPrecedence ||= defaultPrecedence;
}

const fields = {
  spec: embedded(2, FlowSchemaSpec),
  status: embedded(3, statusOf("FlowSchema", "Dangling")),
};
export interface FlowSchema extends ClusterObject<typeof fields> {}

export const FlowSchema = defineResource("flowcontrol.apiserver.k8s.io/v1.FlowSchema", fields, {
  doc: "Gives requests to the API server a priority level, and divides them into flows.",
  scope: "Cluster",
  hasGeneration: true,
  withStatus: () => ({}),
  statusResets,
  columns: [
    column("PriorityLevel", "Priority level of the requests.", ({ spec }) => spec.priorityLevelConfiguration.name),
    column("MatchingPrecedence", "Order of the FlowSchemas.", ({ spec }) => spec.matchingPrecedence),
    column(
      "DistinguisherMethod",
      "How requests are divided.",
      ({ spec }) => spec.distinguisherMethod?.type ?? "<none>",
    ),
    ageColumn,
    column("MissingPL", "Whether the priority level does not exist.", ({ status: { conditions } }) => {
      const dangling = conditions?.find(({ type }) => type === "Dangling");
      return dangling ? (dangling.status ?? "") : "?";
    }),
  ],

  prepareForStatusUpdate: keepMetadata,
  validate(schema) {
    const { metadata, spec } = schema.value;
    const name = metadata.name ?? "";
    validateSpec(schema.field("spec"), name);
    const fixed = own(mandatoryFlowSpecs, name);
    if (fixed && !equal(spec, fixed)) schema.field("spec").invalid(`spec of '${name}' must equal the fixed value`);
  },
  validateStatusUpdate: validateStatus,
});

function validateSpec(at: Cursor<FlowSchemaSpec>, name: string): void {
  const { matchingPrecedence, distinguisherMethod } = at.value;
  const precedence = at.field("matchingPrecedence");
  if (matchingPrecedence <= 0) precedence.invalid("must be a positive value");
  if (matchingPrecedence > maxPrecedence) precedence.invalid(`must not be greater than ${maxPrecedence}`);
  if (matchingPrecedence === 1 && name !== "exempt") {
    precedence.invalid("only the schema named 'exempt' may have matchingPrecedence 1");
  }
  if (distinguisherMethod && !methods.includes(distinguisherMethod.type)) {
    // Upstream shows the whole method, with its name in Go.
    at.under("distinguisherMethod", "type").unsupported(methods, { Type: distinguisherMethod.type });
  }
  const level = at.field("priorityLevelConfiguration").field("name");
  if (level.required("must reference a priority level")) level.rule(dns1123Subdomain);
  at.each("rules", validatePolicyRules);
}
const methods = ["ByNamespace", "ByUser"];

const groups = (...names: string[]) => names.map((name) => ({ kind: "Group", group: { name } }));
const everything = {
  resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"], clusterScope: true, namespaces: ["*"] }],
  nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
};

/** The FlowSchemas without which a server does not work. Nobody can change them. */
export const mandatoryFlowSpecs: Readonly<Record<string, FlowSchemaSpec>> = {
  exempt: {
    priorityLevelConfiguration: { name: "exempt" },
    matchingPrecedence: 1,
    rules: [{ subjects: groups("system:masters"), ...everything }],
  },
  "catch-all": {
    priorityLevelConfiguration: { name: "catch-all" },
    matchingPrecedence: maxPrecedence,
    distinguisherMethod: { type: "ByUser" },
    rules: [{ subjects: groups("system:unauthenticated", "system:authenticated"), ...everything }],
  },
};
