import { NodeSelector } from "#api/core/pod/affinity.ts";
import { ageColumn, column } from "#api/meta/columns.ts";
import { dns1123Label } from "#api/meta/names.ts";
import { immutable, nullable, optional, present } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { atomicList, boolean, int64, map, string } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";
import { type ClusterObject, defineResource, type ObjectOf } from "../resource.ts";
import { eachUnique } from "./bounded-lists.ts";
import { Counter, Device, dropDisabledFields } from "./device.ts";
import { validateDriverName, validatePoolName } from "./device-names.ts";
import { chosenNodes } from "./node-choice.ts";
import { validateCounters, validateDevice } from "./validate-device.ts";

const object = inPackage("resource/v1");

const CounterSet = object("CounterSet", "Counters that several devices take from.", {
  name: present(1, string(), "Name of the counter set, unique in the pool. It must be a DNS label."),
  counters: present(2, map(Counter), "Amount of each counter by name, at most 32 counters."),
});
interface CounterSet extends Infer<typeof CounterSet> {}

const ResourceSliceSpec = object("ResourceSliceSpec", "Some of the devices of a pool, and which nodes have them.", {
  driver: immutable(present(1, string(), "Name of the driver that publishes the slice. Cannot be changed.")),
  pool: object.present(2, "ResourcePool", "Pool that the devices belong to.", {
    name: immutable(present(1, string(), "Name of the pool, such as that of its node. Cannot be changed.")),
    generation: present(2, int64(), "Generation of the pool. Slices of an older one are out of date."),
    resourceSliceCount: present(3, int64(), "Number of slices that the pool has in this generation."),
  }),
  nodeName: immutable(nullable(3, string(), "Node that has all devices of the slice. Cannot be changed.")),
  nodeSelector: nullable(4, NodeSelector, "Nodes that have all devices of the slice, as one term."),
  allNodes: nullable(5, boolean(), "Whether every node has the devices of the slice."),
  devices: optional(
    6,
    atomicList(Device),
    "Devices, at most 128, or 64 if one has taints or takes from counters. Not together with sharedCounters.",
  ),
  perDeviceNodeSelection: nullable(7, boolean(), "Whether each device of the slice tells which nodes have it."),
  sharedCounters: optional(
    8,
    atomicList(CounterSet),
    "Counter sets of the pool, at most 8. Not together with devices.",
  ),
});
interface ResourceSliceSpec extends Infer<typeof ResourceSliceSpec> {}

const fields = { spec: present(2, ResourceSliceSpec) };
export interface ResourceSlice extends ClusterObject<typeof fields> {}

export const ResourceSlice = defineResource("resource.k8s.io/v1.ResourceSlice", fields, {
  doc: "Some of the devices that a driver offers, on one node or on several.",
  scope: "Cluster",
  hasGeneration: true,
  returnsDeleted: true,
  columns: [
    column("Node", "Node that has the devices.", ({ spec }) => spec.nodeName ?? ""),
    column("Driver", "Driver that offers the devices.", ({ spec }) => spec.driver),
    column("Pool", "Pool that the devices belong to.", ({ spec }) => spec.pool.name),
    ageColumn,
  ],
  selectableFields: { "spec.nodeName": ({ spec }) => spec.nodeName ?? "", "spec.driver": ({ spec }) => spec.driver },

  prepareForCreate: dropFromDevices,
  prepareForUpdate: dropFromDevices,
  validate: (slice) => validateSpec(slice.field("spec")),
  warnings(slice) {
    const { driver } = slice.value.spec;
    if (driver === driver.toLowerCase()) return;
    const text = `driver names should be lowercase; ${JSON.stringify(driver)} contains uppercase characters`;
    slice.field("spec").field("driver").warn(text);
  },
});

function dropFromDevices({ spec }: ObjectOf<typeof fields>): void {
  for (const device of spec.devices ?? []) dropDisabledFields(device);
}

function validateSpec(at: Cursor<ResourceSliceSpec>): void {
  const { devices = [], sharedCounters = [], perDeviceNodeSelection = false } = at.value;
  validateDriverName(at.field("driver"));
  validatePool(at.field("pool"));
  validateNodes(at);
  if (devices.length > 0 && sharedCounters.length > 0) {
    at.invalid("only one of `sharedCounters` or `devices` is allowed", "");
  }
  const isAdvanced = devices.some(({ taints, consumesCounters }) => taints?.length || consumesCounters?.length);
  eachUnique(at.field("devices"), {
    max: isAdvanced ? 64 : 128,
    keyOf: ({ name }) => name,
    visit: (at) => validateDevice(at, perDeviceNodeSelection),
  });
  eachUnique(at.field("sharedCounters"), { max: 8, keyOf: ({ name }) => name, visit: validateCounterSet });
}

function validatePool(at: Cursor<ResourceSliceSpec["pool"]>): void {
  validatePoolName(at.field("name"));
  if (at.value.resourceSliceCount <= 0) at.field("resourceSliceCount").invalid("must be greater than zero");
  if (at.value.generation < 0) at.field("generation").invalid("must be greater than or equal to zero");
}

const oneOfNodes = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";

function validateNodes(at: Cursor<ResourceSliceSpec>): void {
  const emptyName = "must be either unset or set to a non-empty string";
  const chosen = chosenNodes(at, { emptyName, oneTerm: true });
  if (at.value.perDeviceNodeSelection) chosen.push("`perDeviceNodeSelection`");
  else at.on("perDeviceNodeSelection", (at) => at.invalid("must be either unset or set to true"));
  if (chosen.length === 0) at.missing(oneOfNodes);
  if (chosen.length > 1) at.invalid(`${oneOfNodes}, but multiple fields are set`, `{${chosen.join(", ")}}`);
}

function validateCounterSet(at: Cursor<CounterSet>): void {
  if (at.field("name").required()) at.field("name").rule(dns1123Label);
  validateCounters(at.field("counters"));
}
