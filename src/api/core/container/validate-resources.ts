import { type Cursor } from "#api/cursor.ts";
import { dns1123Label, qualifiedName } from "#api/meta/names.ts";
import { compareQuantities, isNegativeQuantity, quantityMilliValue, quantityValue } from "#api/meta/quantity.ts";
import { own } from "#lib/data/own.ts";
import { notFoundValue } from "#schema/field-error.ts";
import { type ResourceRequirements } from "./container.ts";
import { isExtendedResource, isHugePages, isNativeResource, isOvercommitAllowed } from "./resource-list.ts";

/** Whose requirements: the names that are allowed differ. */
export type ResourceOwner = "container" | "pod" | "anything";

export function validateRequirements(
  at: Cursor<ResourceRequirements>,
  owner: ResourceOwner,
  claimNames: ReadonlySet<string>,
): void {
  const { limits = {}, requests = {} } = at.value;
  at.eachKey("limits", (at, name) => validateResource(at, name, owner));
  at.eachKey("requests", (at, name) => validateResource(at, name, owner));
  for (const name in requests) {
    const limit = own(limits, name);
    const fault = requestFault(name, requests[name] ?? "0", limit);
    if (fault) at.field("requests").invalid(fault, requests[name]);
    else if (limit === undefined && !isOvercommitAllowed(name)) {
      at.field("limits").missing("Limit must be set for non overcommitable resources");
    }
  }
  const names = [...Object.keys(limits), ...Object.keys(requests)];
  if (names.some(isHugePages) && !names.includes("cpu") && !names.includes("memory")) {
    at.forbidden("HugePages require cpu or memory");
  }
  validateClaims(at, claimNames);
}

function requestFault(name: string, request: string, limit: string | undefined): string | undefined {
  if (limit === undefined) return undefined;
  const order = compareQuantities(request, limit);
  if (order !== 0 && !isOvercommitAllowed(name)) return `must be equal to ${name} limit of ${limit}`;
  return order > 0 ? `must be less than or equal to ${name} limit of ${limit}` : undefined;
}

function validateResource(at: Cursor<string>, name: string, owner: ResourceOwner): void {
  // The three names that nearly every list has need no further look.
  if (name !== "cpu" && name !== "memory" && (name !== "ephemeral-storage" || owner === "pod")) {
    validateResourceName(at.as(name), owner);
  }
  validateAmount(at, name);
  if (isHugePages(name)) at.invalid(hugePagesFault(name, at.value));
}

export function validateResourceName(at: Cursor<string>, owner: ResourceOwner): void {
  const { value: name, faultCount } = at;
  at.rule(qualifiedName);
  const isQualified = name.includes("/");
  if (at.faultCount === faultCount && !isQualified && !isStandardResource(name)) {
    at.invalid("must be a standard resource type or fully qualified");
  }
  if (owner === "container") {
    if (!isQualified && !containerResources.has(name) && !isHugePages(name)) {
      at.invalid("must be a standard resource for containers");
    } else if (!isNativeResource(name) && !isExtendedResource(name)) {
      at.invalid("doesn't follow extended resource name standard");
    }
  } else if (owner === "pod" && at.faultCount === faultCount && !isHugePages(name))
    at.unsupported(["cpu", "hugepages-", "memory"]);
}

const containerResources = new Set(["cpu", "memory", "ephemeral-storage"]);
const countedResources = new Set([
  "configmaps",
  "persistentvolumeclaims",
  "pods",
  "replicationcontrollers",
  "resourcequotas",
  "secrets",
  "services",
  "services.loadbalancers",
  "services.nodeports",
]);
const measuredResources = new Set(
  ["cpu", "memory", "ephemeral-storage"].flatMap((name) => [name, `requests.${name}`, `limits.${name}`]),
);

/** Names without a domain that mean something, in pods or in quotas. */
const isStandardResource = (name: string): boolean =>
  measuredResources.has(name) ||
  countedResources.has(name) ||
  name === "storage" ||
  name === "requests.storage" ||
  isHugePages(name) ||
  name.startsWith("requests.hugepages-");

/** Names without a domain that a quota can limit. */
export const isQuotaResource = (name: string): boolean => name !== "storage" && isStandardResource(name);

/** Checks an amount of a resource: never negative, and an integer for resources that are counted. */
export function validateAmount(at: Cursor<string>, name: string): void {
  if (isNegativeQuantity(at.value)) at.invalid("must be greater than or equal to 0");
  const isWhole = countedResources.has(name) || isExtendedResource(name);
  if (isWhole && quantityMilliValue(at.value) % 1000 !== 0) at.invalid("must be an integer");
}

function hugePagesFault(name: string, amount: string): string | undefined {
  const page = pageSize(name.slice("hugepages-".length));
  if (page > 0 && quantityValue(amount) % page === 0) return undefined;
  return `${amount} is not positive integer multiple of ${name}`;
}

/** In bytes; 0 if the text is not the size of a page. */
function pageSize(text: string): number {
  if (!/^[0-9]+([kMGTPE]|[KMGTPE]i)?$/.test(text)) return 0;
  return quantityValue(text);
}

/** Claims are used as a whole or by request, and each only once. */
function validateClaims(requirements: Cursor<ResourceRequirements>, known: ReadonlySet<string>): void {
  const used = new Set<string>();
  const usedByRequest = new Set<string>();
  requirements.each("claims", (at) => {
    const { name, request } = at.value;
    if (!name) {
      at.missing();
      return;
    }
    if (request && !used.has(name)) at.field("request").rule(dns1123Label);
    const key = request ? `${name}/${request}` : name;
    const overlaps = used.has(name) || (!request && usedByRequest.has(name));
    const repeated = overlaps ? name : used.has(key) ? key : undefined;
    if (repeated !== undefined) at.duplicate(repeated);
    if (!used.has(name)) used.add(key);
    if (request) usedByRequest.add(name);
    if (!known.has(name)) unknownClaim(at.as(name), known);
  });
}

function unknownClaim(at: Cursor<string>, known: ReadonlySet<string>): void {
  at.add(() => {
    const fault = notFoundValue(at, at.value);
    const names = known.size === 0 ? " which is empty" : `: ${[...known].sort().join(", ")}`;
    return { ...fault, message: `${fault.message}: must be one of the names in pod.spec.resourceClaims${names}` };
  });
}
