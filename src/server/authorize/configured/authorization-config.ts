import { isAbsolute } from "node:path";
import { type Cursor } from "#api/cursor.ts";
import { dns1123Subdomain } from "#api/meta/names.ts";
import { parseDuration } from "#schema/duration.ts";
import { root } from "#schema/field-error.ts";
import { defaulted, nullable, optional } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { boolean, duration, list, string } from "#schema/types.ts";
import { type ConfigKind } from "#server/config/config-file.ts";

const object = inPackage("apiserver.config.k8s.io/v1");

const WebhookConfiguration = object("WebhookConfiguration", "How a webhook is asked.", {
  authorizedTTL: defaulted(1, duration(), "5m0s", "How long a permission is remembered."),
  cacheAuthorizedRequests: defaulted(2, boolean(), true, "Whether permissions are remembered."),
  unauthorizedTTL: defaulted(3, duration(), "30s", "How long a refusal is remembered."),
  cacheUnauthorizedRequests: defaulted(4, boolean(), true, "Whether refusals are remembered."),
  timeout: optional(5, duration(), "How long the webhook may take to answer, at most 30s."),
  subjectAccessReviewVersion: optional(6, string(), "Version of the reviews that are sent: v1 or v1beta1."),
  matchConditionSubjectAccessReviewVersion: optional(7, string(), "Version that the conditions are about: v1."),
  failurePolicy: optional(8, string(), "What a failure means: NoOpinion or Deny."),
  connectionInfo: object.embedded(9, "WebhookConnectionInfo", "Where the webhook is.", {
    type: optional(1, string(), "KubeConfigFile, or InClusterConfig."),
    kubeConfigFile: optional(2, string(), "Absolute path of the kubeconfig file that names the webhook."),
  }),
  matchConditions: optional(
    10,
    list(
      object("WebhookMatchCondition", "A condition in CEL.", {
        expression: optional(1, string(), "The condition in CEL."),
      }),
    ),
    "Conditions that a request must meet for the webhook to be asked.",
  ),
});
export interface WebhookConfiguration extends Infer<typeof WebhookConfiguration> {}

const AuthorizerConfiguration = object("AuthorizerConfiguration", "One authoriser.", {
  type: optional(1, string(), "Node, RBAC, ABAC, Webhook, AlwaysAllow or AlwaysDeny."),
  name: optional(2, string(), "Name of the authoriser; that of a built-in one is its type in lower case."),
  webhook: nullable(3, WebhookConfiguration, "How to ask the webhook, if the type is Webhook."),
});
export interface AuthorizerConfiguration extends Infer<typeof AuthorizerConfiguration> {}

const AuthorizationConfiguration = object("AuthorizationConfiguration", "The chain of authorisers.", {
  apiVersion: optional(1, string(), "Version of this file."),
  kind: optional(2, string(), "AuthorizationConfiguration."),
  authorizers: optional(3, list(AuthorizerConfiguration), "Authorisers in the order in which they are asked."),
});
export interface AuthorizationConfiguration extends Infer<typeof AuthorizationConfiguration> {}

export const authorizerTypes = ["ABAC", "AlwaysAllow", "AlwaysDeny", "Node", "RBAC", "Webhook"] as const;
export type AuthorizerType = (typeof authorizerTypes)[number];

/** The file of `--authorization-config`. */
export const authorizationConfig: ConfigKind<AuthorizationConfiguration> = {
  kind: "AuthorizationConfiguration",
  apiVersions: ["v1", "v1beta1", "v1alpha1"].map((version) => `apiserver.config.k8s.io/${version}`),
  schema: AuthorizationConfiguration,
  validate(at) {
    if (!at.value.authorizers?.length) {
      at.field("authorizers").missing("at least one authorization mode must be defined");
    }
    const seen = { types: new Set<string>(), names: new Set<string>() };
    at.each("authorizers", (at) => validateAuthorizer(at, seen));
  },
  async faults({ authorizers = [] }) {
    if (!authorizers.some(({ webhook }) => webhook?.matchConditions?.length)) return [];
    const { conditionFaults } = await import("./match-conditions.ts");
    const at = (index: number) => root.child("authorizers").index(index).child("webhook", "matchConditions");
    return authorizers.flatMap(({ webhook }, index) => conditionFaults(webhook?.matchConditions ?? [], at(index)));
  },
};

function validateAuthorizer(
  at: Cursor<AuthorizerConfiguration>,
  { types, names }: { readonly types: Set<string>; readonly names: Set<string> },
): void {
  const { type = "", name = "", webhook } = at.value;
  if (!type) return at.field("type").missing();
  if (!isAuthorizerType(type)) return at.field("type").unsupported([...authorizerTypes]);
  if (types.has(type) && type !== "Webhook") return at.field("type").duplicate();
  types.add(type);
  validateName(at.field("name").as(name), type, names);
  if (type !== "Webhook") {
    if (webhook) at.field("webhook").invalid("may only be specified when type=Webhook", "non-null");
    return;
  }
  if (!webhook) at.field("webhook").missing("required when type=Webhook");
  at.on("webhook", validateWebhook);
}

const isAuthorizerType = (type: string): type is AuthorizerType => authorizerTypes.some((known) => known === type);

function validateName(at: Cursor<string>, type: AuthorizerType, names: Set<string>): void {
  const { value: name } = at;
  if (!name) return at.missing();
  if (names.has(name)) return at.duplicate();
  names.add(name);
  const fault = dns1123Subdomain(name);
  if (fault) return at.invalid(`authorizer name is invalid: ${fault}`);
  const expected = type.toLowerCase();
  if (type !== "Webhook" && name !== expected) at.invalid(`expected name ${expected} for authorizer ${type}`);
}

function validateWebhook(at: Cursor<WebhookConfiguration>): void {
  validateTtl(at.field("timeout"), 30_000);
  validateTtl(at.field("authorizedTTL"));
  validateTtl(at.field("unauthorizedTTL"));
  validateChoice(at.field("subjectAccessReviewVersion"), ["v1", "v1beta1"]);
  validateChoice(at.field("failurePolicy"), ["NoOpinion", "Deny"]);
  validateConditions(at);
  const { type, kubeConfigFile } = at.value.connectionInfo;
  const place = at.field("connectionInfo");
  validateChoice(place.field("type"), ["InClusterConfig", "KubeConfigFile"]);
  if (type === "InClusterConfig") {
    const detail = "is for servers that run as a pod; name a kubeconfig file with type KubeConfigFile";
    return place.field("type").invalid(detail);
  }
  if (!kubeConfigFile) return place.field("kubeConfigFile").missing();
  if (!isAbsolute(kubeConfigFile)) place.field("kubeConfigFile").invalid("must be an absolute path");
}

const maxConditions = 64;

function validateConditions(at: Cursor<WebhookConfiguration>): void {
  const { matchConditions = [], matchConditionSubjectAccessReviewVersion: version } = at.value;
  const place = at.field("matchConditionSubjectAccessReviewVersion");
  if (version) validateChoice(place, ["v1"]);
  else if (matchConditions.length > 0) place.missing("required if match conditions are specified");
  if (matchConditions.length > maxConditions) {
    return at.field("matchConditions").tooMany(matchConditions.length, maxConditions);
  }
  const seen = new Set<string>();
  at.each("matchConditions", (at) => {
    const { expression = "" } = at.value;
    if (expression.trim() === "") at.field("expression").missing();
    else at.field("expression").as(expression).unique(seen);
  });
}

function validateChoice(at: Cursor<string | undefined>, values: readonly string[]): void {
  if (!at.value) at.missing();
  else if (!values.includes(at.value)) at.unsupported(values);
}

function validateTtl(at: Cursor<string | undefined>, maxMs = Number.POSITIVE_INFINITY): void {
  const ms = millisecondsOf(at.value);
  if (ms === 0) return at.missing();
  if (ms < 0 || ms > maxMs) {
    at.invalid(maxMs === Number.POSITIVE_INFINITY ? "must be > 0s" : `must be > 0s and <= ${maxMs / 1000}s`);
  }
}

export const millisecondsOf = (text: string | undefined): number =>
  text === undefined ? 0 : Number(parseDuration(text)) / 1e6;
