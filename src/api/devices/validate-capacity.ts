import { addQuantities, compareQuantities, parseQuantity } from "#api/meta/quantity.ts";
import { type Cursor } from "../cursor.ts";
import { eachUnique } from "./bounded-lists.ts";
import { type CapacityRequestPolicy, type DeviceCapacity } from "./device.ts";

/** What can be requested of a capacity is limited only if several claims can share the device. */
export function validateCapacity(at: Cursor<DeviceCapacity>, isShared: boolean): void {
  const { value: total } = at.value;
  at.on("requestPolicy", (at) => {
    if (isShared) validatePolicy(at, total);
    else at.forbidden("allowMultipleAllocations must be true");
  });
}

function validatePolicy(at: Cursor<CapacityRequestPolicy>, total: string): void {
  const { default: usual, validValues = [], validRange } = at.value;
  const limits = validValues.length > 0 ? "validValues" : "validRange";
  if (validValues.length > 0 && validRange) {
    at.forbidden('exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time');
  } else if (validValues.length === 0 && !validRange) return;
  else if (usual === undefined) at.field("default").missing(`required when ${limits} is defined`);
  else if (limits === "validValues") validateValues(at.field("validValues").as(validValues), { usual, total });
  else at.on("validRange", (at) => validateRange(at, { usual, total }));
}

interface Amounts {
  /** What a request without an amount takes. */
  readonly usual: string;
  /** What the device has. */
  readonly total: string;
}

const isMore = (a: string, b: string): boolean => compareQuantities(a, b) > 0;

function validateValues(list: Cursor<readonly string[]>, { usual, total }: Amounts): void {
  for (const [index, value] of list.value.entries()) {
    const before = list.value[index - 1];
    if (before !== undefined && isMore(before, value)) {
      list.key(index, value).invalid("values must be sorted in ascending order");
    }
  }
  let hasUsual = false;
  eachUnique(list, {
    max: 10,
    keyOf: (value) => String(wholeUnits(value)),
    visit(at) {
      if (isMore(at.value, total)) at.invalid(`option is larger than capacity value: ${total}`);
      hasUsual ||= compareQuantities(at.value, usual) === 0;
    },
  });
  if (!hasUsual) list.invalid("default value is not valid according to the requestPolicy", usual);
}

type Range = NonNullable<CapacityRequestPolicy["validRange"]>;

function validateRange(at: Cursor<Range>, amounts: Amounts): void {
  const { usual, total } = amounts;
  const { min, max, step } = at.value;
  if (min === undefined) {
    at.field("min").missing("required when validRange is defined");
    return;
  }
  if (isMore(min, total)) at.field("min").invalid(`min is larger than capacity value: ${total}`);
  if (isMore(min, usual)) at.field("min").invalid(`default is less than min: ${min}`, usual);
  at.on("max", (at) => {
    if (isMore(min, at.value)) at.invalid(`min is larger than max: ${at.value}`, min);
    if (isMore(at.value, total)) at.invalid(`max is larger than capacity value: ${total}`);
    if (isMore(usual, at.value)) at.invalid(`default is more than max: ${at.value}`, usual);
  });
  if (step === undefined) return;
  const first = addQuantities(min, step);
  if (isMore(first, total)) {
    at.field("step").invalid(`one step ${first} is larger than capacity value: ${total}`);
  }
  for (const value of max === undefined ? [usual] : [usual, max]) {
    if (isWholeSteps(value, min, step)) continue;
    at.field("step").invalid(`value is not a multiple of a given step (${step}) from (${min})`, value);
  }
}

/** A step of 0 leads nowhere. */
function isWholeSteps(value: string, min: string, step: string): boolean {
  const units = wholeUnits(step);
  return units !== 0n && (wholeUnits(value) - wholeUnits(min)) % units === 0n;
}

const nanosPerUnit = 1_000_000_000n;

/** The amount in whole units, rounded away from zero. It may be more than a number can hold. */
function wholeUnits(quantity: string): bigint {
  const { nanos } = parseQuantity(quantity);
  const units = nanos / nanosPerUnit;
  if (nanos % nanosPerUnit === 0n) return units;
  return nanos < 0n ? units - 1n : units + 1n;
}
