import { dns1123Label } from "#api/meta/names.ts";
import { type Cursor } from "../cursor.ts";
import { validateBindingConditions } from "./binding-conditions.ts";
import { eachEntry, eachUnique, eachUpTo } from "./bounded-lists.ts";
import { type Counter, type Device, type DeviceAttribute, type DeviceCounterConsumption } from "./device.ts";
import { maxKeyChars, validateDeviceKey } from "./device-names.ts";
import { validateTaint } from "./device-taint.ts";
import { chosenNodes } from "./node-choice.ts";
import { validateCapacity } from "./validate-capacity.ts";

export function validateDevice(at: Cursor<Device>, choosesNodes: boolean): void {
  at.field("name").rule(dns1123Label);
  validateProperties(at);
  eachUpTo(at.field("taints"), 16, validateTaint);
  eachUnique(at.field("consumesCounters"), {
    max: 2,
    keyOf: ({ counterSet }) => counterSet,
    visit: validateConsumption,
  });
  if (choosesNodes) validateNodes(at);
  else refuseNodes(at);
  validateBindingConditions(at);
}

const maxProperties = 32;
const maxValues = 48;

/** Upstream looks at the properties even if there are too many. Here there may only be a few too many. */
function validateProperties(at: Cursor<Device>): void {
  const { attributes = {}, capacity = {}, allowMultipleAllocations: isShared = false } = at.value;
  const values = Object.keys(attributes).length;
  const total = values + Object.keys(capacity).length;
  if (total > maxProperties) {
    at.invalid(`the total number of attributes and capacities must not exceed ${maxProperties}`, total);
  }
  if (values > maxValues) at.invalid(`the total number of attribute values must not exceed ${maxValues}`, values);
  if (total > maxValues) return;
  const keys = { maxKeyChars, checkKey: validateDeviceKey };
  eachEntry(at.field("attributes"), { ...keys, visit: validateAttribute });
  eachEntry(at.field("capacity"), { ...keys, visit: (at) => validateCapacity(at, isShared) });
}

const maxValueBytes = 64;
const number = "(?:0|[1-9]\\d*)";
const before = "(?:0|[1-9]\\d*|\\d*[a-zA-Z-][0-9a-zA-Z-]*)";
const build = "[0-9a-zA-Z-]+";
const semanticVersion = new RegExp(
  `^${number}\\.${number}\\.${number}(?:-${before}(?:\\.${before})*)?(?:\\+${build}(?:\\.${build})*)?$`,
);

function validateAttribute(at: Cursor<DeviceAttribute>): void {
  at.on("string", validateValue);
  at.on("version", (at) => {
    // Matching a very long text takes a while, and its length is a fault already.
    const isTried = at.value.length <= 16 * maxValueBytes;
    if (isTried && !semanticVersion.test(at.value))
      at.invalid("must be a string compatible with semver.org spec 2.0.0");
    validateValue(at);
  });
  const { int, bool, string, version } = at.value;
  const count = [int, bool, string, version].filter((value) => value !== undefined).length;
  if (count !== 1) at.invalid("exactly one value must be specified", count === 0 ? "" : at.value);
}

function validateValue(at: Cursor<string>): void {
  if (Buffer.byteLength(at.value) > maxValueBytes) at.tooLong(maxValueBytes);
}

function validateConsumption(at: Cursor<DeviceCounterConsumption>): void {
  if (at.field("counterSet").required()) at.field("counterSet").rule(dns1123Label);
  validateCounters(at.field("counters"));
}

/** Any amount is valid. */
export function validateCounters(at: Cursor<Readonly<Record<string, Counter>>>): void {
  const count = Object.keys(at.value).length;
  if (count === 0) at.missing();
  else if (count > 32) at.tooMany(count, 32);
  else eachEntry(at, { maxKeyChars: 63, checkKey: (at, key) => at.rule(dns1123Label, key) });
}

const oneOfNodes =
  "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec";

function validateNodes(at: Cursor<Device>): void {
  const chosen = chosenNodes(at, { emptyName: "must not be empty" });
  if (chosen.length === 0) at.missing(oneOfNodes);
  if (chosen.length > 1) at.invalid(oneOfNodes, `{${chosen.join(", ")}}`);
}

function refuseNodes(at: Cursor<Device>): void {
  const { nodeName, nodeSelector, allNodes } = at.value;
  if (nodeName === undefined && nodeSelector === undefined && allNodes === undefined) return;
  const why =
    "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec";
  at.invalid(why, null);
}
