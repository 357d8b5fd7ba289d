import type { Device, DeviceAttribute } from "#api/devices/device.ts";
import type { Program } from "#cel/compile.ts";
import { type Entry, EntryMap, type Equal, type Key, ObjectValue } from "#cel/values/collections.ts";
import { CelError, type Value } from "#cel/values/value.ts";
import { own } from "#lib/data/own.ts";
import { quantityOf } from "../quantity.ts";
import { semverOf } from "../semver.ts";
import { selectorCostLimit } from "./compile-selector.ts";
import { deviceType } from "./device-environment.ts";

/** Whether a selector selects a device, or why that cannot be told; and what it cost to find out. */
export type DeviceMatch =
  | { readonly matches: boolean; readonly error?: undefined; readonly cost: number }
  | { readonly matches?: undefined; readonly error: string; readonly cost: number };

interface Candidate {
  readonly driver: string;
  readonly device: Device;
  /** Less than a selector may cost, if the caller has not that much time. */
  readonly maxCost?: number;
}

/** Evaluates a selector for a device of a driver. */
export function matchDevice(program: Program, { driver, device, maxCost = selectorCostLimit }: Candidate): DeviceMatch {
  const variables = { get: (name: string) => (name === "device" ? celValueOf(driver, device) : undefined) };
  const { value, error, ...used } = program.evaluate(variables, Math.min(maxCost, selectorCostLimit));
  // Some work has no cost in upstream's count.
  const cost = Math.max(used.cost, used.work);
  if (error !== undefined) return { error, cost };
  if (typeof value === "boolean") return { matches: value, cost };
  return { error: "CEL result could not be converted to bool", cost };
}

/** Stored devices do not change, so a value is made once. */
const values = new WeakMap<Device, DeviceValue>();

function celValueOf(driver: string, device: Device): DeviceValue {
  let value = values.get(device);
  if (!value) {
    value = new DeviceValue({
      driver,
      allowMultipleAllocations: device.allowMultipleAllocations ?? false,
      attributes: byDomain(driver, device.attributes, attributeValue),
      capacity: byDomain(driver, device.capacity, ({ value: amount }) => quantityOf(amount)),
    });
    values.set(device, value);
  }
  return value;
}

class DeviceValue extends ObjectValue {
  readonly type = deviceType;
  readonly size = 4;
  readonly #fields: Readonly<Record<string, Value>>;

  constructor(fields: Readonly<Record<string, Value>>) {
    super();
    this.#fields = fields;
  }
  get(field: string): Value | undefined {
    return own(this.#fields, field);
  }
  has(field: string): boolean {
    return Object.hasOwn(this.#fields, field);
  }
  equals(other: ObjectValue, _equal: Equal): boolean {
    return other === this;
  }
}

/** A domain that a device does not have reads as an empty one, so that selectors need not ask for it first. */
class DomainMap extends EntryMap {
  override get(key: Value): Value | undefined {
    return super.get(key) ?? noEntries;
  }
  override has(key: Value): boolean {
    return super.get(key) !== undefined;
  }
}
const noEntries = new EntryMap(new Map());

/** A name without a domain belongs to the driver. */
function byDomain<T>(
  driver: string,
  items: Readonly<Record<string, T>> | undefined,
  convert: (item: T) => Value,
): DomainMap {
  const domains = new Map<string, Map<Key, Entry>>();
  for (const [name, item] of Object.entries(items ?? {})) {
    const slash = name.indexOf("/");
    const domain = slash < 0 ? driver : name.slice(0, slash);
    const id = name.slice(slash + 1);
    const entries = domains.get(domain) ?? new Map<Key, Entry>();
    entries.set(id, { key: id, value: convert(item) });
    domains.set(domain, entries);
  }
  const content = Array.from(domains, ([key, entries]) => [key, { key, value: new EntryMap(entries) }] as const);
  return new DomainMap(new Map(content));
}

function attributeValue({ int, bool, string, version }: DeviceAttribute): Value {
  if (version !== undefined) return semverOf(version);
  return int ?? bool ?? string ?? new CelError("unsupported attribute value");
}
