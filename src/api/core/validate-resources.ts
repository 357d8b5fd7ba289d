import { own } from "#lib/own.ts";
import {
  duplicateValue,
  type FieldPath,
  forbiddenValue,
  invalidValue,
  notFoundValue,
  requiredValue,
  unsupportedValue,
} from "#schema/field-error.ts";
import { dns1123Label, qualifiedName } from "../meta/names.ts";
import { compareQuantities, isNegativeQuantity, quantityMilliValue, quantityValue } from "../meta/quantity.ts";
import { type ResourceClaim, type ResourceRequirements } from "./container.ts";
import { type Faults, judge, judgeAt } from "./faults.ts";
import {
  isExtendedResource,
  isHugePages,
  isNativeResource,
  isOvercommitAllowed,
  type ResourceList,
} from "./resource-list.ts";

/** Whose requirements: the names that are allowed differ. */
export type ResourceOwner = "container" | "pod";

export function validateRequirements(
  { limits = {}, requests = {}, claims = [] }: ResourceRequirements,
  { owner, claimNames }: { owner: ResourceOwner; claimNames: ReadonlySet<string> },
  path: FieldPath,
  faults: Faults,
): void {
  const limitPath = path.child("limits");
  const requestPath = path.child("requests");
  validateList(limits, owner, limitPath, faults);
  validateList(requests, owner, requestPath, faults);
  for (const name in requests) {
    const fault = requestFault(name, requests[name] ?? "0", own(limits, name));
    if (fault) faults.push(invalidValue(requestPath, requests[name], fault));
    else if (own(limits, name) === undefined && !isOvercommitAllowed(name)) {
      faults.push(requiredValue(limitPath, "Limit must be set for non overcommitable resources"));
    }
  }
  const names = [...Object.keys(limits), ...Object.keys(requests)];
  if (names.some(isHugePages) && !names.includes("cpu") && !names.includes("memory")) {
    faults.push(forbiddenValue(path, "HugePages require cpu or memory"));
  }
  validateClaims(claims, claimNames, path.child("claims"), faults);
}

function requestFault(name: string, request: string, limit: string | undefined): string | undefined {
  if (limit === undefined) return undefined;
  const order = compareQuantities(request, limit);
  if (order !== 0 && !isOvercommitAllowed(name)) return `must be equal to ${name} limit of ${limit}`;
  return order > 0 ? `must be less than or equal to ${name} limit of ${limit}` : undefined;
}

function validateList(list: ResourceList, owner: ResourceOwner, path: FieldPath, faults: Faults): void {
  for (const name in list) {
    const amount = list[name] ?? "0";
    // The three names that nearly every list has need no further look.
    if (name !== "cpu" && name !== "memory" && (name !== "ephemeral-storage" || owner === "pod")) {
      validateResourceName(name, owner, path.key(name), faults);
    }
    validateAmount(name, amount, path.key(name), faults);
    const fault = isHugePages(name) ? hugePagesFault(name, amount) : undefined;
    if (fault) faults.push(invalidValue(path.key(name), amount, fault));
  }
}

function validateResourceName(name: string, owner: ResourceOwner, path: FieldPath, faults: Faults): void {
  const before = faults.length;
  judgeAt(qualifiedName, name, path, faults);
  const isQualified = name.includes("/");
  if (faults.length === before && !isQualified && !isStandardResource(name)) {
    faults.push(invalidValue(path, name, "must be a standard resource type or fully qualified"));
  }
  if (owner === "container") {
    if (!isQualified && name !== "ephemeral-storage" && !isHugePages(name)) {
      faults.push(invalidValue(path, name, "must be a standard resource for containers"));
    } else if (!isNativeResource(name) && !isExtendedResource(name)) {
      faults.push(invalidValue(path, name, "doesn't follow extended resource name standard"));
    }
  } else if (faults.length === before && !isHugePages(name)) {
    faults.push(unsupportedValue(path, name, ["cpu", "hugepages-", "memory"]));
  }
}

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

/** An amount of a resource: never negative, whole for what comes in pieces. */
export function validateAmount(name: string, amount: string, path: FieldPath, faults: Faults): void {
  if (isNegativeQuantity(amount)) {
    faults.push(invalidValue(path, amount, "must be greater than or equal to 0"));
  }
  const isWhole = countedResources.has(name) || isExtendedResource(name);
  if (isWhole && quantityMilliValue(amount) % 1000 !== 0) {
    faults.push(invalidValue(path, amount, "must be an integer"));
  }
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
function validateClaims(
  claims: readonly ResourceClaim[],
  known: ReadonlySet<string>,
  path: FieldPath,
  faults: Faults,
): void {
  const used = new Set<string>();
  for (const [index, { name, request }] of claims.entries()) {
    const at = path.index(index);
    if (!name) {
      faults.push(requiredValue(at));
      continue;
    }
    if (request && !used.has(name)) judge(dns1123Label, request, at, "request", faults);
    const key = request ? `${name}/${request}` : name;
    const repeated = used.has(name) ? name : used.has(key) ? key : overlapOf(name, request, used);
    if (repeated !== undefined) faults.push(duplicateValue(at, repeated));
    if (!used.has(name)) used.add(key);
    if (!known.has(name)) faults.push(unknownClaim(name, known, at));
  }
}

const overlapOf = (name: string, request: string | undefined, used: ReadonlySet<string>): string | undefined =>
  !request && [...used].some((key) => key.startsWith(`${name}/`)) ? name : undefined;

function unknownClaim(name: string, known: ReadonlySet<string>, path: FieldPath): Faults[number] {
  const fault = notFoundValue(path, name);
  const names = known.size === 0 ? " which is empty" : `: ${[...known].sort().join(", ")}`;
  return { ...fault, message: `${fault.message}: must be one of the names in pod.spec.resourceClaims${names}` };
}
