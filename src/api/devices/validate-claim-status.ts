import { validateNodeSelector } from "#api/core/pod/validate/validate-affinity.ts";
import { type Condition, validateCondition } from "#api/meta/condition.ts";
import { validateInterfaceAddress } from "#api/meta/ip-address.ts";
import { dns1123Label } from "#api/meta/names.ts";
import { type Cursor } from "../cursor.ts";
import { validateBindingConditions } from "./binding-conditions.ts";
import { eachUnique, eachUpTo } from "./bounded-lists.ts";
import {
  type AllocatedDeviceStatus,
  AllocationResult,
  allocatedDevices,
  type DeviceAllocationConfiguration,
  type DeviceRequestAllocationResult,
  deviceKey,
  type ResourceClaimConsumerReference,
  type ResourceClaimStatus,
} from "./claim-status.ts";
import { validateDriverName, validatePoolName, validateShareId } from "./device-names.ts";
import { validateConfiguration, validateJsonObject } from "./device-selector.ts";
import { validateTolerationChoices } from "./device-taint.ts";
import { type RequestNames, validateRequestRef, validateRequestRefs } from "./validate-claim-spec.ts";

export interface ClaimFacts {
  readonly old: ResourceClaimStatus;
  readonly requests: RequestNames;
  readonly isDeleted: boolean;
}

export function validateClaimStatus(at: Cursor<ResourceClaimStatus>, facts: ClaimFacts): void {
  eachUnique(at.field("reservedFor"), { max: 256, keyOf: ({ uid }) => uid, visit: validateConsumer });
  const allocated = allocatedDevices(at.value);
  eachUnique(at.field("devices"), {
    max: Number.POSITIVE_INFINITY,
    keyOf: deviceKey,
    shown: shownId,
    visit: (at) => validateDeviceStatus(at, allocated),
  });
  validateReservations(at, facts);
  if (at.value.allocation && facts.old.allocation) {
    at.field("allocation").immutable(AllocationResult, facts.old.allocation);
  } else at.on("allocation", (at) => validateAllocation(at, facts.requests));
}

function validateConsumer(at: Cursor<ResourceClaimConsumerReference>): void {
  for (const name of ["resource", "name", "uid"] as const) at.field(name).required();
}

function validateReservations(at: Cursor<ResourceClaimStatus>, { old, isDeleted }: ClaimFacts): void {
  const { reservedFor = [], allocation } = at.value;
  const list = at.field("reservedFor");
  if (reservedFor.length > 0 && !allocation) list.forbidden("may not be specified when `allocated` is not set");
  else if (isDeleted) {
    const known = new Set(old.reservedFor?.map(consumerKey));
    if (reservedFor.every((consumer) => known.has(consumerKey(consumer)))) return;
    list.forbidden("new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set");
  }
}

const consumerKey = ({ apiGroup = "", resource, name, uid }: ResourceClaimConsumerReference): string =>
  JSON.stringify([apiGroup, resource, name, uid]);

/** A device as upstream shows it in a fault. */
const shownId = ({ driver, pool, device, shareID = "" }: AllocatedDeviceStatus) => ({
  Driver: driver,
  Pool: pool,
  Device: device,
  ShareID: shareID,
});

function validateDeviceStatus(at: Cursor<AllocatedDeviceStatus>, allocated: ReadonlySet<string>): void {
  validateDriverName(at.field("driver"));
  validatePoolName(at.field("pool"));
  at.field("device").rule(dns1123Label);
  at.on("shareID", validateShareId);
  if (!allocated.has(deviceKey(at.value))) {
    at.invalid("must be an allocated device in the claim", shownId(at.value));
  }
  validateConditions(at.field("conditions"));
  at.on("data", (at) => validateJsonObject(at, 10 * 1024));
  at.on("networkData", validateNetworkData);
}

/** Upstream looks at the conditions even if there are too many. */
function validateConditions(list: Cursor<readonly Condition[] | undefined>): void {
  const { value: conditions = [] } = list;
  if (conditions.length > 8) list.tooMany(conditions.length, 8);
  const types = new Set<string>();
  for (const [index, condition] of conditions.entries()) {
    if (list.isFull) return;
    const at = list.key(index, condition);
    at.field("type").unique(types);
    validateCondition(at);
  }
}

type NetworkData = NonNullable<AllocatedDeviceStatus["networkData"]>;

function validateNetworkData(at: Cursor<NetworkData>): void {
  validateLength(at.field("interfaceName"), 256);
  validateLength(at.field("hardwareAddress"), 128);
  eachUnique(at.field("ips"), { max: 16, keyOf: (ip) => ip, visit: validateInterfaceAddress });
}

function validateLength(at: Cursor<string | undefined>, max: number): void {
  if (Buffer.byteLength(at.value ?? "") > max) at.tooLong(max);
}

/** Rules for a new allocation. Once stored, it can only be removed. */
function validateAllocation(at: Cursor<AllocationResult>, requests: RequestNames): void {
  const devices = at.field("devices");
  eachUpTo(devices.field("results"), 32, (at) => validateResult(at, requests));
  eachUpTo(devices.field("config"), 64, (at) => validateSettings(at, requests));
  at.on("nodeSelector", validateNodeSelector);
}

function validateResult(at: Cursor<DeviceRequestAllocationResult>, requests: RequestNames): void {
  validateRequestRef(at.field("request"), requests);
  validateDriverName(at.field("driver"));
  validatePoolName(at.field("pool"));
  at.field("device").rule(dns1123Label);
  at.each("tolerations", validateTolerationChoices);
  validateBindingConditions(at);
  at.on("shareID", validateShareId);
}

function validateSettings(at: Cursor<DeviceAllocationConfiguration>, requests: RequestNames): void {
  if (at.field("source").required()) at.field("source").oneOf(["FromClaim", "FromClass"]);
  validateRequestRefs(at.field("requests"), requests);
  validateConfiguration(at);
}
