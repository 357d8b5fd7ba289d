import { NodeSelector } from "#api/core/pod/affinity.ts";
import { Condition } from "#api/meta/condition.ts";
import { embedded, nullable, optional, present, written } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { any, atomicList, boolean, list, listByKey, map, oneOf, quantity, string, time } from "#schema/types.ts";
import { configurationFields } from "./device-selector.ts";
import { DeviceToleration } from "./device-taint.ts";

const object = inPackage("resource/v1");

const DeviceRequestAllocationResult = object(
  "DeviceRequestAllocationResult",
  "A device that was allocated for a request.",
  {
    request: present(1, string(), "Request that the device is for: its name, or REQUEST/ALTERNATIVE."),
    driver: present(2, string(), "Name of the driver of the allocated device."),
    pool: present(3, string(), "Name of the pool of the allocated device."),
    device: present(4, string(), "Name of the allocated device in its pool."),
    adminAccess: nullable(5, boolean(), "Whether the device was allocated for administration."),
    tolerations: optional(6, atomicList(DeviceToleration), "Tolerations of the request at the time of allocation."),
    bindingConditions: optional(7, atomicList(string()), "Conditions of the device to wait for before binding."),
    bindingFailureConditions: optional(8, atomicList(string()), "Conditions of the device that make binding fail."),
    shareID: nullable(9, string(), "UUID of this share of a device that several claims share."),
    consumedCapacity: optional(10, map(quantity()), "How much of each capacity of a shared device the claim takes."),
  },
);
export interface DeviceRequestAllocationResult extends Infer<typeof DeviceRequestAllocationResult> {}

const DeviceAllocationConfiguration = object(
  "DeviceAllocationConfiguration",
  "Settings for allocated devices, and where they came from.",
  {
    source: present(1, oneOf("FromClaim", "FromClass"), "Where the settings came from: FromClass or FromClaim."),
    requests: optional(2, atomicList(string()), "Requests that the settings are for; all requests if empty."),
    ...configurationFields(3),
  },
);
export interface DeviceAllocationConfiguration extends Infer<typeof DeviceAllocationConfiguration> {}

const DeviceAllocationResult = object("DeviceAllocationResult", "The devices that were allocated for a claim.", {
  results: optional(1, atomicList(DeviceRequestAllocationResult), "Allocated devices, at most 32."),
  config: optional(2, atomicList(DeviceAllocationConfiguration), "Settings for the allocated devices, at most 64."),
});
export interface DeviceAllocationResult extends Infer<typeof DeviceAllocationResult> {}

export const AllocationResult = object("AllocationResult", "What was allocated for a claim, and where it is usable.", {
  devices: embedded(1, DeviceAllocationResult, "Devices that were allocated."),
  nodeSelector: nullable(3, NodeSelector, "Nodes where the allocated devices are usable; all nodes if absent."),
  allocationTimestamp: nullable(5, time(), "When the devices were allocated."),
});
export interface AllocationResult extends Infer<typeof AllocationResult> {}

const ResourceClaimConsumerReference = object("ResourceClaimConsumerReference", "An object that may use a claim.", {
  apiGroup: optional(1, string(), "API group of the consumer; empty for the core group."),
  resource: present(3, string(), "Resource of the consumer, such as pods."),
  name: present(4, string(), "Name of the consumer."),
  uid: present(5, string(), "UID of the consumer."),
});
export interface ResourceClaimConsumerReference extends Infer<typeof ResourceClaimConsumerReference> {}

export const AllocatedDeviceStatus = object("AllocatedDeviceStatus", "What a driver reports about a device.", {
  driver: present(1, string(), "Name of the driver of the reported device."),
  pool: present(2, string(), "Name of the pool of the reported device."),
  device: present(3, string(), "Name of the reported device in its pool."),
  conditions: written(
    optional(4, list(Condition, { list: "map", keys: ["type"] }), "Conditions of the device, at most 8."),
  ),
  data: nullable(
    5,
    any({ name: "runtime.RawExtension", opaque: true }),
    "What else the driver reports: a JSON object of at most 10240 bytes.",
  ),
  networkData: object.nullable(6, "NetworkDeviceData", "Network interface of a device.", {
    interfaceName: optional(1, string(), "Name of the device's network interface in the pod, at most 256 bytes."),
    ips: optional(2, atomicList(string()), "Addresses of the device with prefix lengths, such as 192.0.2.5/24."),
    hardwareAddress: optional(3, string(), "Hardware address of the device's network interface, at most 128 bytes."),
  }),
  shareID: nullable(7, string(), "UUID of the share that is reported, for a device that several claims share."),
});
export interface AllocatedDeviceStatus extends Infer<typeof AllocatedDeviceStatus> {}

const deviceKeys = ["driver", "device", "pool", "shareID"];

export const ResourceClaimStatus = object("ResourceClaimStatus", "What was allocated for a claim, and who uses it.", {
  allocation: nullable(1, AllocationResult, "What was allocated for the claim; absent until then."),
  reservedFor: optional(
    2,
    listByKey("uid", ResourceClaimConsumerReference),
    "Objects that may use the claim, at most 256. Allocated devices are kept as long as there are any.",
  ),
  devices: optional(
    4,
    list(AllocatedDeviceStatus, { list: "map", keys: deviceKeys }),
    "What drivers report about the allocated devices.",
  ),
});
export interface ResourceClaimStatus extends Infer<typeof ResourceClaimStatus> {}

interface DeviceId {
  readonly driver: string;
  readonly pool: string;
  readonly device: string;
  readonly shareID?: string;
}

/** Identifies an allocated device, or a share of one, in a set. */
export const deviceKey = ({ driver, pool, device, shareID = "" }: DeviceId): string =>
  JSON.stringify([driver, pool, device, shareID]);

/** The devices that are allocated. */
export const allocatedDevices = ({ allocation }: ResourceClaimStatus): ReadonlySet<string> =>
  new Set(allocation?.devices.results?.map(deviceKey));
