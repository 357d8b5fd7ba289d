import { qualifiedName } from "#api/meta/names.ts";
import { compareQuantities, quantityMilliValue } from "#api/meta/quantity.ts";
import { own } from "#lib/data/own.ts";
import { optional, present, undemanded } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { atomicList, map, quantity, string } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";
import { defineResource, type NamespacedObject } from "../resource.ts";
import { isOvercommitAllowed, type ResourceList } from "./container/resource-list.ts";
import { validateResourceName } from "./container/validate-resources.ts";

const object = inPackage("core/v1");

const LimitRangeItem = object.filledBy(setDefaults, "LimitRangeItem", "The limits for one type of object.", {
  type: present(1, string(), "Type of object that the limits are for: Pod, Container or PersistentVolumeClaim."),
  max: optional(2, map(quantity()), "Maximum of each resource for an object of this type."),
  min: optional(3, map(quantity()), "Minimum of each resource for an object of this type."),
  default: optional(4, map(quantity()), "Default limits of a container that sets none."),
  defaultRequest: optional(5, map(quantity()), "Default requests of a container that sets none."),
  maxLimitRequestRatio: optional(6, map(quantity()), "Maximum ratio of limit to request for each resource."),
});
interface LimitRangeItem extends Infer<typeof LimitRangeItem> {}

/** A default that is not set follows from others: the limit from the maximum, the request from the limit or the minimum. */
function setDefaults(item: { type: string } & { [K in (typeof lists)[number]]?: ResourceList }): void {
  if (item.type !== "Container") return;
  const limits = { ...item.max, ...item.default };
  const requests = { ...item.min, ...limits, ...item.defaultRequest };
  if (Object.keys(limits).length > 0) item.default = limits;
  if (Object.keys(requests).length > 0) item.defaultRequest = requests;
}

const fields = {
  spec: undemanded(
    object.present(2, "LimitRangeSpec", "The limits that are enforced in a namespace.", {
      limits: present(1, atomicList(LimitRangeItem), "Limits, with at most one entry for each type of object."),
    }),
  ),
};
export interface LimitRange extends NamespacedObject<typeof fields> {}

export const LimitRange = defineResource("v1.LimitRange", fields, {
  doc: "Limits and defaults for the resources of each object of a type in a namespace.",
  shortNames: ["limits"],
  createOnUpdate: true,

  validate(range) {
    const types = new Set<string>();
    range.field("spec").each("limits", (at) => {
      const type = at.field("type");
      const { faultCount } = type;
      type.rule(qualifiedName);
      if (
        type.faultCount === faultCount &&
        !type.value.includes("/") &&
        !["Pod", "Container", "PersistentVolumeClaim"].includes(type.value)
      ) {
        type.invalid("must be a standard limit type or fully qualified");
      }
      type.unique(types);
      validateNames(at);
      const names = new Set(lists.flatMap((list) => Object.keys(at.value[list] ?? {})));
      for (const name of [...names].sort()) validateAmounts(at, name);
    });
  },
});

const lists = ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"] as const;

function validateNames(at: Cursor<LimitRangeItem>): void {
  const { type, min, max } = at.value;
  for (const list of lists) {
    const isDefault = list === "default" || list === "defaultRequest";
    if (list === "maxLimitRequestRatio" && type === "PersistentVolumeClaim" && !min?.storage && !max?.storage) {
      const detail = "either minimum or maximum storage value is required, but neither was provided";
      at.under("limits").missing(detail);
    }
    if (isDefault && type === "Pod") {
      const isSet = Object.keys(at.value[list] ?? {}).length > 0;
      if (isSet) at.field(list).forbidden("may not be specified when `type` is 'Pod'");
    } else {
      const owner = type === "Pod" || type === "Container" ? "container" : "anything";
      at.eachKey(list, (at, name) => validateResourceName(at.as(name), owner));
    }
  }
}

/** That the numbers for one resource agree with each other. */
function validateAmounts(at: Cursor<LimitRangeItem>, name: string): void {
  const amount = (list: (typeof lists)[number]): string | undefined => own(at.value[list] ?? {}, name);
  const [max, min, limit, request, ratio] = lists.map(amount);
  const isMore = (a: string | undefined, b: string | undefined): boolean =>
    a !== undefined && b !== undefined && compareQuantities(a, b) > 0;
  const refuse = (list: (typeof lists)[number], shown: string | undefined, detail: string): void =>
    at.field(list).key(name, shown).invalid(detail);

  if (isMore(min, max)) refuse("min", min, `min value ${min} is greater than max value ${max}`);
  if (isMore(min, request)) {
    refuse("defaultRequest", request, `min value ${min} is greater than default request value ${request}`);
  }
  if (isMore(request, max)) {
    refuse("defaultRequest", request, `default request value ${request} is greater than max value ${max}`);
  }
  if (isMore(request, limit)) {
    refuse("defaultRequest", request, `default request value ${request} is greater than default limit value ${limit}`);
  }
  if (isMore(min, limit)) refuse("default", min, `min value ${min} is greater than default value ${limit}`);
  if (isMore(limit, max)) refuse("default", max, `default value ${limit} is greater than max value ${max}`);
  if (isMore("1", ratio)) refuse("maxLimitRequestRatio", ratio, `ratio ${ratio} is less than 1`);
  if (ratio !== undefined && min !== undefined && max !== undefined) {
    const most = quantityMilliValue(max) / quantityMilliValue(min);
    const detail = `ratio ${ratio} is greater than max/min = ${most.toFixed(6)}`;
    if (quantityMilliValue(ratio) / 1000 > most) refuse("maxLimitRequestRatio", ratio, detail);
  }
  if (!isOvercommitAllowed(name) && (isMore(limit, request) || isMore(request, limit))) {
    const detail = `default value ${limit} must equal to defaultRequest value ${request} in ${name}`;
    refuse("defaultRequest", request, detail);
  }
}
