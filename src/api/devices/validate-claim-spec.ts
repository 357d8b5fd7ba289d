import { dns1123Label, dns1123Subdomain } from "#api/meta/names.ts";
import { type Cursor } from "../cursor.ts";
import { eachUnique, eachUpTo } from "./bounded-lists.ts";
import {
  type DeviceClaim,
  type DeviceConstraint,
  type DeviceRequest,
  type DeviceSubRequest,
  type ExactDeviceRequest,
  type ResourceClaimSpec,
} from "./claim-spec.ts";
import { validateFullDeviceKey } from "./device-names.ts";
import { validateConfiguration, validateSelectors } from "./device-selector.ts";
import { validateToleration } from "./device-taint.ts";

const maxRequests = 32;

export function validateClaimSpec(spec: Cursor<ResourceClaimSpec>): void {
  const at = spec.field("devices");
  const known = requestNames(at.value);
  eachUnique(at.field("requests"), { max: maxRequests, keyOf: ({ name }) => name, visit: validateRequest });
  eachUpTo(at.field("constraints"), 32, (at) => validateConstraint(at, known));
  eachUpTo(at.field("config"), 32, (at) => {
    validateRequestRefs(at.field("requests"), known);
    validateConfiguration(at);
  });
}

/** Each request of a claim by its name, and REQUEST/ALTERNATIVE for each of its alternatives. */
export type RequestNames = ReadonlySet<string>;

export function requestNames({ requests = [] }: DeviceClaim): RequestNames {
  const names = new Set<string>();
  for (const { name, firstAvailable = [] } of requests) {
    names.add(name);
    for (const alternative of firstAvailable) names.add(`${name}/${alternative.name}`);
  }
  return names;
}

/** A list of references to requests, without repetition. */
export function validateRequestRefs(requests: Cursor<readonly string[] | undefined>, known: RequestNames): void {
  eachUnique(requests, { max: maxRequests, keyOf: (name) => name, visit: (at) => validateRequestRef(at, known) });
}

export function validateRequestRef(at: Cursor<string>, known: RequestNames): void {
  const parts = at.value.split("/", 3);
  if (parts.length < 3) for (const part of parts) at.rule(dns1123Label, part);
  if (parts.length === 3 || !known.has(at.value)) {
    at.invalid("must be the name of a request in the claim or the name of a request and a subrequest separated by '/'");
  }
}

function validateRequest(at: Cursor<DeviceRequest>): void {
  const { exactly, firstAvailable = [] } = at.value;
  at.field("name").rule(dns1123Label);
  if (exactly && firstAvailable.length > 0) {
    at.invalid("exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set", null);
  } else if (exactly) at.on("exactly", validateExactRequest);
  else if (firstAvailable.length > 0) {
    eachUnique(at.field("firstAvailable"), {
      max: 8,
      keyOf: ({ name }) => name,
      visit(at) {
        at.field("name").rule(dns1123Label);
        validateExactRequest(at);
      },
    });
  } else at.missing("exactly one of `exactly` or `firstAvailable` is required");
}

function validateExactRequest(at: Cursor<ExactDeviceRequest | DeviceSubRequest>): void {
  if (at.field("deviceClassName").required()) at.field("deviceClassName").rule(dns1123Subdomain);
  validateSelectors(at.field("selectors"));
  validateCount(at);
  at.each("tolerations", validateToleration);
}

function validateCount(at: Cursor<{ readonly allocationMode?: string; readonly count?: number }>): void {
  const { allocationMode = "", count = 0 } = at.value;
  if (allocationMode === "All") {
    if (count !== 0) at.field("count").invalid("must not be specified when allocationMode is 'All'");
  } else if (allocationMode === "ExactCount") {
    if (count <= 0) at.field("count").invalid("must be greater than zero", count);
  } else at.field("allocationMode").unsupported(["All", "ExactCount"], allocationMode);
}

/** Upstream looks at only one of the attributes if both are there, and has this text if neither is. */
function validateConstraint(at: Cursor<DeviceConstraint>, known: RequestNames): void {
  const { matchAttribute, distinctAttribute } = at.value;
  validateRequestRefs(at.field("requests"), known);
  if (matchAttribute !== undefined) at.on("matchAttribute", validateFullDeviceKey);
  else if (distinctAttribute !== undefined) at.on("distinctAttribute", validateFullDeviceKey);
  else {
    at.missing('exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set');
  }
}
