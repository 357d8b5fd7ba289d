import { embedded, nullable, optional, present, written } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { atomicList, boolean, int64, known, map, quantity, string } from "#schema/types.ts";
import { configurationFields, DeviceSelector } from "./device-selector.ts";
import { DeviceToleration } from "./device-taint.ts";

const object = inPackage("resource/v1");

const CapacityRequirements = object("CapacityRequirements", "How much of a shared device is needed.", {
  requests: optional(1, map(quantity()), "Amount that is needed of each capacity, by the name of the capacity."),
});

/** What both kinds of requests have. Their numbers in protobuf differ by one, because an alternative begins with its name. */
const requestFields = (before: 0 | 1) => ({
  deviceClassName: present(before + 1, string(), "Name of the DeviceClass that the requested devices belong to."),
  selectors: optional(before + 2, atomicList(DeviceSelector), "Conditions that every requested device meets."),
  allocationMode: optional(
    before + 3,
    known("All", "ExactCount"),
    "How many devices: ExactCount (default) or All that are suitable.",
  ),
  count: optional(before + 4, int64(), "Number of devices with the mode ExactCount; 1 by default."),
});
const tolerations = optional(6, atomicList(DeviceToleration), "Taints of devices that the request tolerates.");
const capacity = nullable(7, CapacityRequirements, "How much of each capacity the request needs of a shared device.");

function setCount(request: { allocationMode?: string; count?: number }): void {
  request.allocationMode ||= "ExactCount";
  if (request.allocationMode === "ExactCount") request.count ||= 1;
}

const ExactDeviceRequest = object.filledBy(setCount, "ExactDeviceRequest", "A request for devices of one class.", {
  ...requestFields(0),
  adminAccess: nullable(5, boolean(), "Whether the request is for administration, even if the devices are in use."),
  tolerations,
  capacity,
});
export interface ExactDeviceRequest extends Infer<typeof ExactDeviceRequest> {}

const DeviceSubRequest = object.filledBy(setCount, "DeviceSubRequest", "One of several alternatives of a request.", {
  name: present(1, string(), "Name of the alternative. It is referred to as REQUEST/NAME."),
  ...requestFields(1),
  tolerations,
  capacity,
});
export interface DeviceSubRequest extends Infer<typeof DeviceSubRequest> {}

export const DeviceRequest = object("DeviceRequest", "A request for devices, with or without alternatives.", {
  name: present(1, string(), "Name of the request, unique in the claim. It must be a DNS label."),
  exactly: nullable(2, ExactDeviceRequest, "The requested devices, if there is only one way to satisfy the request."),
  firstAvailable: optional(
    3,
    atomicList(DeviceSubRequest),
    "Alternatives, at most 8. The first one that can be satisfied is used.",
  ),
});
export interface DeviceRequest extends Infer<typeof DeviceRequest> {}

const DeviceConstraint = object("DeviceConstraint", "What the devices of several requests have in common.", {
  requests: optional(1, atomicList(string()), "Requests that the constraint is about; all requests if empty."),
  matchAttribute: nullable(2, string(), "Attribute that must be the same for all devices, as DOMAIN/NAME."),
  distinctAttribute: nullable(3, string(), "Attribute that must be different for each device, as DOMAIN/NAME."),
});
export interface DeviceConstraint extends Infer<typeof DeviceConstraint> {}

const DeviceClaimConfiguration = object("DeviceClaimConfiguration", "Settings for the devices of some requests.", {
  requests: optional(1, atomicList(string()), "Requests that the settings are for; all requests if empty."),
  ...configurationFields(2),
});
export interface DeviceClaimConfiguration extends Infer<typeof DeviceClaimConfiguration> {}

const DeviceClaim = object("DeviceClaim", "The devices that a claim requests.", {
  requests: written(optional(1, atomicList(DeviceRequest), "Requests for devices, at most 32. All must be satisfied.")),
  constraints: optional(2, atomicList(DeviceConstraint), "Conditions on devices of several requests, at most 32."),
  config: optional(3, atomicList(DeviceClaimConfiguration), "Settings for the devices, at most 32."),
});
export interface DeviceClaim extends Infer<typeof DeviceClaim> {}

export const ResourceClaimSpec = object("ResourceClaimSpec", "What a claim requests, and its settings.", {
  devices: embedded(1, DeviceClaim, "Devices that the claim requests."),
});
export interface ResourceClaimSpec extends Infer<typeof ResourceClaimSpec> {}
