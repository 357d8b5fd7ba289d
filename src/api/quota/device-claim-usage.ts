import { deviceClassPrefix, type ResourceList } from "#api/core/container/resource-list.ts";
import { DeviceClass } from "#api/devices/device-class.ts";
import { ResourceClaim } from "#api/devices/resource-claim.ts";
import { compareQuantities, subtractQuantities } from "#api/meta/quantity.ts";
import { own } from "#lib/data/own.ts";
import { countName, type Evaluator, type Influence, type ObjectLookup } from "./evaluator.ts";
import { claimInfluences, lapsedPod, takenByPod } from "./extended-claim.ts";
import { isExtendedRequest } from "./pod-usage.ts";

/** `gpu.deviceclass.resource.k8s.io/devices` limits the devices of one class. */
const classSuffix = ".deviceclass.resource.k8s.io/devices";
/** What "All" may amount to: upstream's limit for the devices of a claim. */
const mostDevices = 32n;

const classInfluence: Influence<DeviceClass> = {
  resource: DeviceClass,
  concerns: ({ before, after }) =>
    before?.spec.extendedResourceName === after?.spec.extendedResourceName ? [] : "all",
};

/**
 * Claims take the devices that they may get, in the worst case, from the limits of their classes and of the extended
 * resources that these stand behind. What the scheduler claims for the extended resources of a pod is taken by the pod.
 */
export const deviceClaimEvaluator: Evaluator<ResourceClaim> = {
  measures: (name) => name === countName(ResourceClaim) || name.endsWith(classSuffix) || isExtendedRequest(name),
  isCharged: ({ subresource }) => subresource === "",
  influences: [classInfluence, ...claimInfluences],
  lapsed: lapsedPod,

  usage(claim, context) {
    const usage: ResourceList = { [countName(ResourceClaim)]: "1" };
    const devices = devicesByClass(claim);
    for (const [className, count] of devices) usage[`${className}${classSuffix}`] = String(count);
    const taken = takenByPod(claim, context);
    for (const [name, count] of extendedRequests(devices, context.objects)) {
      const rest = subtractQuantities(String(count), own(taken, name) ?? "0");
      if (compareQuantities(rest, "0") > 0) usage[name] = rest;
    }
    return usage;
  },
};

/** How many devices, in the worst case. Counts are as large as 64 bits, and are added up. */
type Devices = ReadonlyMap<string, bigint>;

function devicesByClass({ spec }: ResourceClaim): Devices {
  const devices = new Map<string, bigint>();
  for (const { exactly, firstAvailable = [] } of spec.devices?.requests ?? []) {
    const worst = new Map<string, bigint>();
    const choices = firstAvailable.length > 0 ? firstAvailable : exactly ? [exactly] : [];
    for (const choice of choices) {
      const { deviceClassName: className } = choice;
      const count = devicesOf(choice);
      if (count >= (worst.get(className) ?? 0n)) worst.set(className, count);
    }
    for (const [className, count] of worst) addCount(devices, className, count);
  }
  return devices;
}

function devicesOf({ allocationMode, count = 0 }: { allocationMode?: string; count?: number }): bigint {
  if (allocationMode === "ExactCount") return BigInt(count);
  return allocationMode === "All" ? mostDevices : 0n;
}

/** The same devices, as what a pod would have to request for them. Every class has a name for that, and maybe a second. */
function extendedRequests(devices: Devices, objects: ObjectLookup): Devices {
  const requests = new Map<string, bigint>();
  for (const [className, count] of devices) {
    requests.set(`requests.${deviceClassPrefix}${className}`, count);
    const resource = objects.of(DeviceClass).get({ name: className })?.spec.extendedResourceName;
    if (resource) addCount(requests, `requests.${resource}`, count);
  }
  return requests;
}

function addCount(counts: Map<string, bigint>, name: string, count: bigint): void {
  counts.set(name, (counts.get(name) ?? 0n) + count);
}
