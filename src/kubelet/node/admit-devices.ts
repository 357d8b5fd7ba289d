import { isExtendedResource } from "#api/core/container/resource-list.ts";
import type { AnyContainer } from "#api/core/pod/pod-containers.ts";
import type { Pod } from "#api/core/pod.ts";
import { quantityValue } from "#api/meta/quantity.ts";
import type { DeviceManager, DeviceRequest } from "#kubelet/resources/devices.ts";
import { messageOf } from "#lib/text/message-of.ts";
import type { Rejection } from "./admit.ts";

/** The part of the device manager that pods need. */
export type Devices = Pick<DeviceManager, "allocate" | "preStart" | "keepOnly" | "release" | "counts">;

/**
 * Allocates devices to all containers of a pod before the pod starts. Otherwise allocates none, and says why. Devices that
 * neither this pod nor one of `others` holds are released first. Never rejects: a pod that is not judged would never end.
 */
export async function admitDevices(
  devices: Devices,
  pod: Pod,
  others: readonly string[],
): Promise<Rejection | undefined> {
  const { containers, initContainers = [] } = pod.spec;
  const { uid } = pod.metadata;
  try {
    await devices.keepOnly(new Set([uid, ...others]));
    for (const container of [...initContainers, ...containers]) await devices.allocate(deviceRequest(pod, container));
    return undefined;
  } catch (error) {
    // Where even that fails, as on a full disk, the next admission releases them.
    await devices.release(uid).catch(() => {});
    return {
      reason: "UnexpectedAdmissionError",
      message: `Allocate failed due to ${messageOf(error)}, which is unexpected`,
    };
  }
}

/** Whether the pod may want devices: other extended resources may have no plugin on this node. */
export const mayWantDevices = ({ spec }: Pod): boolean =>
  [...spec.containers, ...(spec.initContainers ?? [])].some(hasExtendedResources);

export const hasExtendedResources = ({ resources }: AnyContainer): boolean =>
  Object.keys(resources.limits ?? {}).some(isExtendedResource);

export function deviceRequest({ metadata, spec }: Pod, { name, resources }: AnyContainer): DeviceRequest {
  const init = spec.initContainers?.find((one) => one.name === name);
  const extended = Object.entries(resources.limits ?? {}).filter(([resource]) => isExtendedResource(resource));
  return {
    podUid: metadata.uid,
    container: name,
    isPassedOn: init !== undefined && init.restartPolicy !== "Always",
    resources: Object.fromEntries(extended.map(([resource, amount]) => [resource, quantityValue(amount)])),
  };
}
