import { parseQuantity, quantityMilliValue, quantityOfMilli } from "../meta/quantity.ts";

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
