import { qualifiedName } from "#api/meta/names.ts";
import {
  addQuantities,
  compareQuantities,
  parseQuantity,
  quantityMilliValue,
  quantityOfMilli,
} from "#api/meta/quantity.ts";
import { own } from "#lib/data/own.ts";

/** Amounts by resource name: `{ cpu: "100m", memory: "1Gi" }`. */
export type ResourceList = Record<string, string>;

/** Amounts finer than a thousandth are rounded up, as upstream does for the sake of old clients. */
export function roundToMillis(list: ResourceList): void {
  for (const name in list) {
    const text = list[name] ?? "0";
    if (!/[nu]$|e-/.test(text)) continue;
    list[name] = quantityOfMilli(quantityMilliValue(text), parseQuantity(text).format);
  }
}

/** Adds `more` to `list`, resource by resource. */
export function addTo(list: ResourceList, more: Readonly<ResourceList> | undefined): void {
  for (const name in more) {
    const amount = more[name] ?? "0";
    const there = own(list, name);
    list[name] = there === undefined ? amount : addQuantities(there, amount);
  }
}

/** Raises each amount of `list` to that of `other` where it is lower. */
export function raiseTo(list: ResourceList, other: Readonly<ResourceList>): void {
  for (const name in other) {
    const amount = other[name] ?? "0";
    const there = own(list, name);
    if (there === undefined || compareQuantities(amount, there) > 0) list[name] = amount;
  }
}

export const isHugePages = (name: string): boolean => name.startsWith("hugepages-");
/** Resources of Kubernetes itself, as opposed to those of device plugins and drivers. */
export const isNativeResource = (name: string): boolean => !name.includes("/") || name.includes("kubernetes.io/");
/** Offered by a device plugin or driver: `example.com/gpu`. */
export const isExtendedResource = (name: string): boolean =>
  !isNativeResource(name) && !name.startsWith("requests.") && qualifiedName(`requests.${name}`) === undefined;
/** What every DeviceClass offers by its name: `deviceclass.resource.kubernetes.io/CLASS`. */
export const deviceClassPrefix = "deviceclass.resource.kubernetes.io/";
/** Whether a DeviceClass can stand behind the resource. */
export const isDeviceResource = (name: string): boolean =>
  isExtendedResource(name) || name.startsWith(deviceClassPrefix);
/** Whether limits may add up to more than the node has. */
export const isOvercommitAllowed = (name: string): boolean => isNativeResource(name) && !isHugePages(name);
