import { addTo, type ResourceList, raiseTo } from "#api/core/container/resource-list.ts";
import { ResourceClaim } from "#api/devices/resource-claim.ts";
import { countName, type Evaluator } from "./evaluator.ts";

/** `gpu.deviceclass.resource.k8s.io/devices` limits the devices of one class. */
const classSuffix = ".deviceclass.resource.k8s.io/devices";
/** What "All" may amount to: upstream's limit for the devices of a claim. */
const mostDevices = 32;

/** Claims take the devices that they may get, in the worst case, from the limits of their classes. */
export const deviceClaimEvaluator: Evaluator<ResourceClaim> = {
  measures: (name) => name === countName(ResourceClaim) || name.endsWith(classSuffix),
  isCharged: ({ subresource }) => subresource === "",

  usage({ spec }) {
    const usage: ResourceList = { [countName(ResourceClaim)]: "1" };
    for (const { exactly, firstAvailable = [] } of spec.devices?.requests ?? []) {
      const worst: ResourceList = {};
      const choices = firstAvailable.length > 0 ? firstAvailable : exactly ? [exactly] : [];
      for (const choice of choices) raiseTo(worst, { [`${choice.deviceClassName}${classSuffix}`]: devicesOf(choice) });
      addTo(usage, worst);
    }
    return usage;
  },
};

function devicesOf({ allocationMode, count = 0 }: { allocationMode?: string; count?: number }): string {
  if (allocationMode === "ExactCount") return String(count);
  return allocationMode === "All" ? String(mostDevices) : "0";
}
