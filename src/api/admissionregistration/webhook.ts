import { ageColumn, numberColumn } from "#api/meta/columns.ts";
import { LabelSelector, validateLabelSelector } from "#api/meta/label-selector.ts";
import { dns1035Label, dns1123Subdomain } from "#api/meta/names.ts";
import { defaulted, embedded, inGo, optional, present, unstated } from "#schema/fields.ts";
import { type InferFields } from "#schema/schema.ts";
import { atomicList, int32, known, listByKey, string } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";
import { type ApiObject, type ResourceDeclaration } from "../resource.ts";
import { MatchCondition, validateMatchConditions } from "./match-condition.ts";
import { failurePolicies, matchPolicy } from "./match-resources.ts";
import { warnOfReservedName } from "./reserved-name.ts";
import { RuleWithOperations, validateRuleWithOperations } from "./rule-with-operations.ts";
import { validateClientConfig, WebhookClientConfig } from "./webhook-client-config.ts";

/** The fields of both types of webhooks. Two of them have different protobuf numbers. */
export const webhookFields = (objectSelectorTag: number, matchConditionsTag: number) => ({
  name: present(1, string(), "Name of the webhook, unique in its configuration: a domain of at least three parts."),
  clientConfig: present(2, WebhookClientConfig, "How the webhook is reached."),
  rules: optional(3, atomicList(RuleWithOperations), "Rules of which a request must match one to be sent."),
  failurePolicy: inGo(
    { isPointer: true },
    defaulted(4, failurePolicies, "Fail", "What happens to a request if the webhook fails: Fail or Ignore."),
  ),
  matchPolicy: matchPolicy(9),
  namespaceSelector: inGo(
    { isPointer: true },
    embedded(5, LabelSelector, "Selects namespaces. Objects outside of namespaces always match."),
  ),
  objectSelector: inGo(
    { isPointer: true },
    embedded(
      objectSelectorTag,
      LabelSelector,
      "Selects objects by labels. It is enough if the old or the new object matches.",
    ),
  ),
  sideEffects: unstated(
    present(
      6,
      known("None", "NoneOnDryRun", "Some", "Unknown"),
      "Side effects of the webhook: None, or NoneOnDryRun if a dry run has none.",
    ),
  ),
  timeoutSeconds: defaulted(7, int32(), 10, "Seconds after which a call of the webhook fails, from 1 to 30."),
  admissionReviewVersions: present(
    8,
    atomicList(string()),
    "Versions of AdmissionReview that the webhook understands, best first: v1 or v1beta1.",
  ),
  matchConditions: optional(
    matchConditionsTag,
    listByKey("name", MatchCondition),
    "Conditions that a request must satisfy to be sent, at most 64.",
  ),
});
type Webhook = InferFields<ReturnType<typeof webhookFields>>;
interface Configuration extends ApiObject {
  webhooks?: Webhook[];
}

/** What the two kinds of configurations share. */
export const webhookConfiguration = {
  scope: "Cluster",
  categories: ["api-extensions"],
  hasGeneration: true,
  conditionalUpdate: true,
  columns: [
    numberColumn("Webhooks", "Number of webhooks of the configuration.", ({ webhooks = [] }) => webhooks.length),
    ageColumn,
  ],
  validate: validateWebhooks,
  warnings: warnOfReservedName,
} as const satisfies Partial<ResourceDeclaration<Configuration>>;

function validateWebhooks(configuration: Cursor<Configuration>): void {
  const names = new Set<string>();
  configuration.each("webhooks", (at) => {
    validateWebhook(at);
    validateReviewVersions(at);
    if (at.value.name) at.field("name").unique(names);
  });
}

function validateWebhook(at: Cursor<Webhook>): void {
  validateName(at.field("name"));
  at.each("rules", validateRuleWithOperations);
  validateSideEffects(at.field("sideEffects"));
  const { timeoutSeconds } = at.value;
  if (timeoutSeconds < 1 || timeoutSeconds > 30) {
    at.field("timeoutSeconds").invalid("the timeout value must be between 1 and 30 seconds");
  }
  validateLabelSelector(at.field("namespaceSelector"));
  validateLabelSelector(at.field("objectSelector"));
  validateClientConfig(at.field("clientConfig"));
  validateMatchConditions(at);
}

function validateName(at: Cursor<string>): void {
  if (!at.required()) return;
  const faults = dns1123Subdomain.all(at.value);
  if (faults.length > 0) at.invalid(faults.join(","));
  else if (at.value.split(".", 3).length < 3) {
    at.invalid("should be a domain with at least three segments separated by dots");
  }
}

const sideEffects = ["None", "NoneOnDryRun"];

function validateSideEffects(at: Cursor<string>): void {
  if (at.required(`must specify one of ${sideEffects.join(", ")}`)) at.oneOf(sideEffects);
}

const reviewVersions = ["v1", "v1beta1"];

function validateReviewVersions(webhook: Cursor<Webhook>): void {
  const list = webhook.field("admissionReviewVersions");
  if (!list.required(`must specify one of ${reviewVersions.join(", ")}`)) return;
  const seen = new Set<string>();
  webhook.each("admissionReviewVersions", (at) => {
    if (seen.has(at.value)) return at.invalid("duplicate version");
    seen.add(at.value);
    at.rule(dns1035Label);
  });
  if (!reviewVersions.some((version) => seen.has(version))) {
    list.invalid(`must include at least one of ${reviewVersions.join(", ")}`);
  }
}
