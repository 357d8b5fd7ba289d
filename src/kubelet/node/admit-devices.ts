import { isExtendedResource } from "#api/core/container/resource-list.ts";
import type { AnyContainer } from "#api/core/pod/pod-containers.ts";
import { podLimits } from "#api/core/pod/pod-resources.ts";
import type { Pod } from "#api/core/pod.ts";
import { quantityValue } from "#api/meta/quantity.ts";
import type { DeviceManager, DeviceRequest } from "#kubelet/resources/devices.ts";

/** The part of the device manager that pods need. */
export type Devices = Pick<DeviceManager, "allocate" | "hints" | "preStart" | "keepOnly" | "release" | "counts">;

/** Whether the pod may want devices: other extended resources may have no plugin on this node. */
export const mayWantDevices = ({ spec }: Pod): boolean =>
  [...spec.containers, ...(spec.initContainers ?? [])].some(hasExtendedResources);

export const hasExtendedResources = ({ resources }: AnyContainer): boolean =>
  Object.keys(resources.limits ?? {}).some(isExtendedResource);

export function deviceRequest({ metadata, spec, status }: Pod, { name, resources }: AnyContainer): DeviceRequest {
  const init = spec.initContainers?.find((one) => one.name === name);
  return {
    podUid: metadata.uid,
    container: name,
    isPassedOn: init !== undefined && init.restartPolicy !== "Always",
    resources: devicesIn(resources.limits, (resource) => comesFromClaim(status, resource, name)),
  };
}

/** The devices that a pod needs at once. */
export const podDeviceRequest = ({ metadata, spec, status }: Pod): DeviceRequest => ({
  podUid: metadata.uid,
  container: "",
  isPassedOn: false,
  resources: devicesIn(podLimits(spec), (resource) => comesFromClaim(status, resource)),
});

/** Whether the claim that the scheduler made provides the resource, for one container or for any. */
export const comesFromClaim = (status: Pod["status"], resource: string, container?: string): boolean =>
  status.extendedResourceClaimStatus?.requestMappings.some(
    (one) => one.resourceName === resource && (container === undefined || one.containerName === container),
  ) ?? false;

function devicesIn(
  limits: Readonly<Record<string, string>> = {},
  isElsewhere: (resource: string) => boolean,
): Record<string, number> {
  const extended = Object.entries(limits).filter(
    ([resource]) => isExtendedResource(resource) && !isElsewhere(resource),
  );
  return Object.fromEntries(extended.map(([resource, amount]) => [resource, quantityValue(amount)]));
}
