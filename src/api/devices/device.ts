import { NodeSelector } from "#api/core/pod/affinity.ts";
import { defaulted, demanded, inGo, nullable, optional, present, written } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { atomicList, boolean, int64, map, quantity, string } from "#schema/types.ts";
import { DeviceTaint } from "./device-taint.ts";

const object = inPackage("resource/v1");

export const Counter = object("Counter", "A counted resource, such as memory.", {
  value: present(1, quantity(), "Amount of the counted resource."),
});
export interface Counter extends Infer<typeof Counter> {}

const DeviceAttribute = object("DeviceAttribute", "A property of a device. It has exactly one of these values.", {
  int: nullable(2, int64(), "Value of an attribute that is a number."),
  bool: nullable(3, boolean(), "Value of an attribute that is true or false."),
  string: nullable(4, string(), "Value of an attribute that is a text of at most 64 bytes."),
  version: nullable(5, string(), "Value of an attribute that is a semantic version of at most 64 bytes."),
  ints: optional(6, atomicList(int64()), "Values of an attribute that is a list of numbers. Dropped by the server."),
  bools: optional(
    7,
    atomicList(boolean()),
    "Values of an attribute that is a list of booleans. Dropped by the server.",
  ),
  strings: optional(8, atomicList(string()), "Values of an attribute that is a list of texts. Dropped by the server."),
  versions: optional(
    9,
    atomicList(string()),
    "Values of an attribute that is a list of versions. Dropped by the server.",
  ),
});
export interface DeviceAttribute extends Infer<typeof DeviceAttribute> {}

const CapacityRequestPolicy = object("CapacityRequestPolicy", "How much of a capacity can be requested.", {
  default: written(nullable(1, quantity(), "Amount that a request without an amount of the capacity takes.")),
  validValues: optional(3, atomicList(quantity()), "Amounts that can be taken, ascending, at most 10."),
  validRange: object.nullable(4, "CapacityRequestPolicyRange", "Range of the amounts that can be taken.", {
    min: demanded(nullable(1, quantity(), "Smallest amount of the capacity that can be taken.")),
    max: nullable(2, quantity(), "Largest amount of the capacity that can be taken; all of it if absent."),
    step: nullable(3, quantity(), "Difference between amounts that can be taken, counted from min; any if absent."),
  }),
});
export interface CapacityRequestPolicy extends Infer<typeof CapacityRequestPolicy> {}

const DeviceCapacity = object("DeviceCapacity", "How much of something a device has.", {
  value: present(1, quantity(), "How much of the capacity the device has."),
  requestPolicy: nullable(
    2,
    CapacityRequestPolicy,
    "How much of the capacity can be requested. Requires allowMultipleAllocations.",
  ),
});
export interface DeviceCapacity extends Infer<typeof DeviceCapacity> {}

const DeviceCounterConsumption = object("DeviceCounterConsumption", "What a device takes from a counter set.", {
  counterSet: present(1, string(), "Name of the counter set that the device takes from."),
  counters: present(2, map(Counter), "Amount that the device takes from each counter, at most 32 counters."),
});
export interface DeviceCounterConsumption extends Infer<typeof DeviceCounterConsumption> {}

const NodeAllocatableResourceMapping = object(
  "NodeAllocatableResourceMapping",
  "How much of a resource of the node a device stands for.",
  {
    capacityKey: nullable(1, string(), "Capacity of the device that is multiplied; the number of devices if absent."),
    allocationMultiplier: inGo(
      { isPointer: true },
      defaulted(2, quantity(), "1", "Factor between the device, or its capacity, and the resource of the node."),
    ),
  },
);

export const Device = object("Device", "A device that claims can request.", {
  name: present(1, string(), "Name of the device, unique in its pool. It must be a DNS label."),
  attributes: optional(2, map(DeviceAttribute), "Properties of the device by name. With capacity, at most 32."),
  capacity: optional(3, map(DeviceCapacity), "How much the device has of what, by name. With attributes, at most 32."),
  consumesCounters: optional(
    4,
    atomicList(DeviceCounterConsumption),
    "What the device takes from shared counters, at most 2 counter sets.",
  ),
  nodeName: nullable(5, string(), "Node that has the device. Requires perDeviceNodeSelection."),
  nodeSelector: nullable(6, NodeSelector, "Nodes that have the device. Requires perDeviceNodeSelection."),
  allNodes: nullable(7, boolean(), "Whether every node has the device. Requires perDeviceNodeSelection."),
  taints: optional(8, atomicList(DeviceTaint), "Taints of the device, at most 16."),
  bindsToNode: nullable(9, boolean(), "Whether a claim for the device can only be used on the node chosen for it."),
  bindingConditions: optional(10, atomicList(string()), "Conditions that a pod waits for before binding, at most 4."),
  bindingFailureConditions: optional(
    11,
    atomicList(string()),
    "Conditions of the device that make binding fail, at most 4.",
  ),
  allowMultipleAllocations: nullable(12, boolean(), "Whether several claims can share the device."),
  nodeAllocatableResourceMappings: optional(
    13,
    map(NodeAllocatableResourceMapping),
    "Resources of the node that the device stands for. Dropped by the server.",
  ),
});
export interface Device extends Infer<typeof Device> {}

/** Removes the fields of features that are off in this release. No stored device has them. */
export function dropDisabledFields(device: Device): void {
  delete device.nodeAllocatableResourceMappings;
  for (const attribute of Object.values(device.attributes ?? {})) {
    for (const name of ["ints", "bools", "strings", "versions"] as const) delete attribute[name];
  }
}
