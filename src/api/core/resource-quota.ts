import { ageColumn, column } from "#api/meta/columns.ts";
import { compareQuantities } from "#api/meta/quantity.ts";
import { own } from "#lib/data/own.ts";
import { embedded, nullable, optional, present } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { atomicList, known, map, quantity, string } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";
import { defineResource, type NamespacedObject, type ObjectOf } from "../resource.ts";
import { type ResourceList, roundToMillis } from "./container/resource-list.ts";
import { isQuotaResource, validateAmount, validateResourceName } from "./container/validate-resources.ts";

const object = inPackage("core/v1");

const scopeNames = "Terminating, NotTerminating, BestEffort, NotBestEffort, PriorityClass and others";
const scope = known(
  "BestEffort",
  "CrossNamespacePodAffinity",
  "NotBestEffort",
  "NotTerminating",
  "PriorityClass",
  "Terminating",
  "VolumeAttributesClass",
);
const ScopeRequirement = object("ScopedResourceSelectorRequirement", "A condition on what a quota counts.", {
  scopeName: present(1, scope, `Scope that the condition is about: ${scopeNames}.`),
  operator: present(
    2,
    known("DoesNotExist", "Exists", "In", "NotIn"),
    "How the scope is compared: In, NotIn, Exists or DoesNotExist.",
  ),
  values: optional(3, atomicList(string()), "Values for In and NotIn; must be empty for Exists and DoesNotExist."),
});
interface ScopeRequirement extends Infer<typeof ScopeRequirement> {}

const ScopeSelector = object.atomic("ScopeSelector", "Conditions on what a quota counts. All of them must hold.", {
  matchExpressions: optional(1, atomicList(ScopeRequirement), "Conditions on what the quota counts, by scope."),
});
interface ScopeSelector extends Infer<typeof ScopeSelector> {}

const ResourceQuotaSpec = object("ResourceQuotaSpec", "The limits of a quota, and what it counts.", {
  hard: optional(1, map(quantity()), "Limit of each resource, by name."),
  scopes: optional(2, atomicList(scope), `What the quota counts: ${scopeNames}. Cannot be changed.`),
  scopeSelector: nullable(3, ScopeSelector, "Conditions on what the quota counts, in addition to scopes."),
});
interface ResourceQuotaSpec extends Infer<typeof ResourceQuotaSpec> {}

const fields = {
  spec: embedded(2, ResourceQuotaSpec),
  status: object.embedded(3, "ResourceQuotaStatus", "The limits that are enforced, and what is used.", {
    hard: optional(1, map(quantity()), "Limit of each resource that is enforced, by name."),
    used: optional(2, map(quantity()), "Amount of each resource that is used in the namespace, by name."),
  }),
};
type SentQuota = ObjectOf<typeof fields>;
export interface ResourceQuota extends NamespacedObject<typeof fields> {}

export const ResourceQuota = defineResource("v1.ResourceQuota", fields, {
  doc: "Limits how much of each resource a namespace can use.",
  shortNames: ["quota"],
  returnsDeleted: true,
  withStatus: () => ({}),
  columns: [
    column("Request", "Used amount and limit of each resource.", ({ status }) => usage(status, "requests")),
    column("Limit", "The same for the limits of containers.", ({ status }) => usage(status, "limits")),
    ageColumn,
  ],

  defaults({ spec, status }) {
    for (const list of [spec.hard, status.hard, status.used]) if (list) roundToMillis(list);
  },
  validate(quota) {
    const at = quota.field("spec");
    at.eachKey("hard", validateLimit);
    validateScopes(at);
    validateScopeSelector(at);
  },
  validateUpdate(quota, old) {
    const at = quota.field("spec").field("scopes");
    const scopes = new Set(at.value);
    const before = new Set(old.spec.scopes);
    if (scopes.size !== before.size || !scopes.isSubsetOf(before)) at.invalid("field is immutable");
  },
  validateStatusUpdate(quota) {
    const at = quota.field("status");
    at.eachKey("hard", validateLimit);
    at.eachKey("used", validateLimit);
  },
  warnings: warnOfRequests,
});

/** `pods: 1/10, requests.cpu: 500m/2`, sorted by name. */
function usage({ hard = {}, used }: SentQuota["status"], part: "requests" | "limits"): string {
  return Object.keys(hard)
    .filter((name) => name.startsWith("limits.") === (part === "limits"))
    .sort()
    .map((name) => `${name}: ${own(used, name) ?? "0"}/${hard[name]}`)
    .join(", ");
}

function validateLimit(at: Cursor<string>, name: string): void {
  validateResourceName(at.as(name), "anything");
  if (!name.includes("/") && !isQuotaResource(name)) at.as(name).invalid("must be a standard resource for quota");
  validateAmount(at, name);
}

const computeResources = ["pods", "cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"];
const claimResources = ["persistentvolumeclaims", "requests.storage"];

/** The resources that can be counted in each scope. */
const scopeResources: ReadonlyMap<string, readonly string[]> = new Map([
  ["Terminating", computeResources],
  ["NotTerminating", computeResources],
  ["BestEffort", ["pods"]],
  ["NotBestEffort", computeResources],
  ["PriorityClass", computeResources],
  ["CrossNamespacePodAffinity", computeResources],
  ["VolumeAttributesClass", claimResources],
]);

/** The scopes in which one of these limits means nothing. */
function unfitScopes(hard: ResourceList = {}): ReadonlySet<string> {
  const limited = Object.keys(hard).filter(isQuotaResource);
  const unfit = [...scopeResources].filter(([, resources]) => limited.some((name) => !resources.includes(name)));
  return new Set(unfit.map(([scope]) => scope));
}

const conflicts = [
  ["BestEffort", "NotBestEffort"],
  ["Terminating", "NotTerminating"],
] as const;
const unfitScope = "unsupported scope applied to resource";

/** Every fault shows the whole list, which may be long, so each is reported once. */
function validateScopes(spec: Cursor<ResourceQuotaSpec>): void {
  const at = spec.field("scopes");
  const scopes = new Set(at.value);
  const unfit = unfitScopes(spec.value.hard);
  if (!scopes.isSubsetOf(scopeResources)) at.invalid("unsupported scope");
  if (!scopes.isDisjointFrom(unfit)) at.invalid(unfitScope);
  refuseConflicts(at, scopes);
}

function refuseConflicts(at: Cursor, scopes: ReadonlySet<string>): void {
  for (const [one, other] of conflicts) if (scopes.has(one) && scopes.has(other)) at.invalid("conflicting scopes");
}

/** Upstream reports faults of a condition at the list. */
function validateScopeSelector(spec: Cursor<ResourceQuotaSpec>): void {
  const { hard, scopes, scopeSelector = {} } = spec.value;
  const at = spec.under("scopeSelector", "matchExpressions");
  const unfit = unfitScopes(hard);
  const found = new Set<string>();
  for (const requirement of scopeSelector.matchExpressions ?? []) {
    const { scopeName } = requirement;
    if (!scopeResources.has(scopeName)) at.under("scopeName").invalid("unsupported scope", scopeName);
    validateOperator(at.as(requirement));
    found.add(scopeName);
  }
  if (!found.isDisjointFrom(unfit)) at.invalid(unfitScope, shown(scopeSelector));
  refuseConflicts(at.as(scopes), found);
}

/** Upstream names the fields here as its source code does. */
const shown = ({ matchExpressions = [] }: ScopeSelector): object => ({
  MatchExpressions: matchExpressions.map(({ scopeName, operator, values }) => ({
    ScopeName: scopeName,
    Operator: operator,
    Values: values ?? null,
  })),
});

/** Scopes that a pod is in or not: they have no values. */
const plainScopes = new Set([
  "BestEffort",
  "NotBestEffort",
  "Terminating",
  "NotTerminating",
  "CrossNamespacePodAffinity",
]);

function validateOperator(at: Cursor<ScopeRequirement>): void {
  const { scopeName, operator, values = [] } = at.value;
  if (plainScopes.has(scopeName) && operator !== "Exists") {
    at.field("operator").invalid(
      "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity",
    );
  }
  if (operator === "In" || operator === "NotIn") {
    const detail = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
    at.field("values").required(detail);
  } else if (operator !== "Exists" && operator !== "DoesNotExist") {
    at.field("operator").invalid("not a valid selector operator");
  } else if (values.length > 0) {
    at.field("values").invalid("must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector");
  }
}

function warnOfRequests(quota: Cursor<SentQuota>, old: SentQuota | undefined): void {
  const { hard } = quota.value.spec;
  if (old) return;
  for (const name of ["cpu", "memory", "storage", "ephemeral-storage"]) {
    const requestName = requestNames(name).find((requestName) => own(hard, requestName) !== undefined) ?? "";
    const request = own(hard, requestName);
    const limit = own(hard, `limits.${name}`);
    if (!request || !limit || compareQuantities(request, limit) <= 0) continue;
    quota.note(`ResourceQuota ${requestName} (${request}) should be less than limits.${name} (${limit})`);
  }
}

/** The names of CPU and memory alone mean requests too. */
const requestNames = (name: string): string[] =>
  name === "cpu" || name === "memory" ? [`requests.${name}`, name] : [`requests.${name}`];
