import { type CapacityRequestPolicy, type Device, type DeviceCapacity } from "#api/devices/device.ts";
import { formatQuantity, type ParsedQuantity, parseQuantity } from "#api/meta/quantity.ts";
import { own } from "#lib/data/own.ts";

/** Capacity → what a request takes of it. */
export type Share = ReadonlyMap<string, ParsedQuantity>;

/** What a request takes of a device, after rounding; undefined if the device cannot give that. */
export function planShare(device: Device, requests: Readonly<Record<string, string>> = {}): Share | undefined {
  const { capacity = {} } = device;
  if (!Object.keys(requests).every((name) => Object.hasOwn(capacity, name))) return undefined;
  const share = new Map<string, ParsedQuantity>();
  for (const [name, has] of Object.entries(capacity)) {
    const amount = roundedUp(own(requests, name), has);
    if (amount.nanos < 0n || amount.nanos > parseQuantity(has.value).nanos) return undefined;
    if (has.requestPolicy && violates(amount.nanos, has.requestPolicy)) return undefined;
    share.set(name, amount);
  }
  return share;
}

/** How much there is to compare for a share. */
export const partsOf = ({ capacity = {} }: Device): number =>
  Object.values(capacity).reduce((sum, { requestPolicy }) => sum + 4 + (requestPolicy?.validValues?.length ?? 0), 0);

export const renderShare = (share: Share): Record<string, string> =>
  Object.fromEntries(Array.from(share, ([name, amount]) => [name, formatQuantity(amount)]));

/** Without a policy, a request takes what it asks for, and all of the capacity if it asks for nothing. */
function roundedUp(requested: string | undefined, { value, requestPolicy }: DeviceCapacity): ParsedQuantity {
  if (requested === undefined) return parseQuantity(requestPolicy?.default ?? value);
  const wanted = parseQuantity(requested);
  const { validRange, validValues } = requestPolicy ?? {};
  if (validRange?.min !== undefined) {
    const min = parseQuantity(validRange.min);
    if (wanted.nanos < min.nanos) return min;
    if (validRange.step === undefined) return wanted;
    const step = parseQuantity(validRange.step);
    if (step.nanos <= 0n) return wanted;
    const steps = (wanted.nanos - min.nanos + step.nanos - 1n) / step.nanos;
    return { nanos: min.nanos + steps * step.nanos, format: step.format };
  }
  const valid = validValues?.map(parseQuantity).find(({ nanos }) => wanted.nanos <= nanos);
  return valid ?? wanted;
}

function violates(nanos: bigint, { default: usual, validRange, validValues = [] }: CapacityRequestPolicy): boolean {
  if (usual !== undefined && parseQuantity(usual).nanos === nanos) return false;
  if (validRange) return validRange.max !== undefined && nanos > parseQuantity(validRange.max).nanos;
  return validValues.length > 0 && !validValues.some((value) => parseQuantity(value).nanos === nanos);
}
