import { type AllocatedDeviceStatus } from "#api/devices/claim-status.ts";
import { type ResourceClaim } from "#api/devices/resource-claim.ts";
import { findCondition } from "#api/meta/condition.ts";

/** Whether the devices of a claim have to become ready before a pod can use it. */
export const hasConditions = ({ status }: ResourceClaim): boolean =>
  status.allocation?.devices.results?.some(({ bindingConditions }) => bindingConditions?.length) ?? false;

/** Whether all devices are ready. A text says why they will not be. */
export function readinessOf({ metadata, status }: ResourceClaim): boolean | string {
  for (const result of status.allocation?.devices.results ?? []) {
    const { bindingConditions = [], bindingFailureConditions = [] } = result;
    if (bindingConditions.length === 0) continue;
    const device = status.devices?.find((one) => isSameDevice(one, result));
    if (!device) return false;
    const failure = bindingFailureConditions
      .map((type) => findCondition(device.conditions, type))
      .find((condition) => condition?.status === "True");
    if (failure) {
      const { reason = "", message = "" } = failure;
      return `device binding failed: claim=${metadata.name}, reason=${reason}, message=${JSON.stringify(message)}`;
    }
    if (!bindingConditions.every((type) => findCondition(device.conditions, type)?.status === "True")) return false;
  }
  return true;
}

/** Whether a claim waits for its devices in vain. */
export function hasFailed(claim: ResourceClaim, nowMs: number, bindingTimeoutMs: number): boolean {
  if (!hasConditions(claim)) return false;
  const readiness = readinessOf(claim);
  if (typeof readiness === "string") return true;
  const since = claim.status.allocation?.allocationTimestamp;
  return !readiness && since !== undefined && Date.parse(since) + bindingTimeoutMs < nowMs;
}

type DeviceName = Pick<AllocatedDeviceStatus, "driver" | "pool" | "device">;
const isSameDevice = (a: DeviceName, b: DeviceName): boolean =>
  a.driver === b.driver && a.pool === b.pool && a.device === b.device;
