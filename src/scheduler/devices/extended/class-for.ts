import { deviceClassPrefix, isDeviceResource } from "#api/core/container/resource-list.ts";
import { type Pod } from "#api/core/pod.ts";
import { DeviceClass } from "#api/devices/device-class.ts";
import { type Informers } from "#runtime/informer.ts";
import { requestOf } from "../../resources.ts";

/** The class whose devices stand behind an extended resource; undefined if there is none. */
export type ClassFor = (resource: string) => DeviceClass | undefined;

/** Looks for the class that a resource names, or for one that names the resource: the newest, then the first by name. */
export function classesOf(informers: Informers): ClassFor {
  const classes = informers.of(DeviceClass);
  return (resource) => {
    if (!isDeviceResource(resource)) return undefined;
    if (resource.startsWith(deviceClassPrefix)) return classes.get({ name: resource.slice(deviceClassPrefix.length) });
    const found = classes.by("extendedResource", resource);
    return found.reduce((best, one) => (isBetter(one, best) ? one : best), found[0]);
  };
}

function isBetter({ metadata: a }: DeviceClass, best: DeviceClass | undefined): boolean {
  if (!best) return true;
  const [left = "", right = ""] = [a.creationTimestamp, best.metadata.creationTimestamp];
  return left === right ? a.name < best.metadata.name : left > right;
}

const none: readonly string[] = [];

/** The requested resources that classes stand behind, sorted. Nodes with a device plugin may offer them too. */
export function resourcesFromClasses(pod: Pod, classFor: ClassFor): readonly string[] {
  const { scalar } = requestOf(pod).requests;
  if (scalar.size === 0) return none;
  const names = [...scalar].flatMap(([name, amount]) => (amount > 0 && classFor(name) ? [name] : []));
  return names.length > 0 ? names.sort() : none;
}

/** Whether an attempt to schedule the pod got as far as noting its claim. That claim may be gone. */
export const hasNote = ({ status }: Pod): boolean => status?.extendedResourceClaimStatus !== undefined;

/** Whether the devices of its class have to provide a resource on a node, because no device plugin does. */
export const comesFromClass = (offered: ReadonlyMap<string, number>, resource: string): boolean =>
  (offered.get(resource) ?? 0) <= 0;
