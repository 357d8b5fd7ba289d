import { type DeviceRequestAllocationResult } from "#api/devices/claim-status.ts";
import { type DeviceTaint, toleratesDeviceTaint } from "#api/devices/device-taint.ts";

/** A device that a claim has, with its current taints. */
export interface TaintedDevice {
  readonly taints: readonly DeviceTaint[];
  readonly tolerations: DeviceRequestAllocationResult["tolerations"];
}

/** When the pods that use these devices must be evicted; undefined if they may stay. */
export function planDeviceEviction(devices: Iterable<TaintedDevice>): number | undefined {
  let due: number | undefined;
  for (const { taints, tolerations = [] } of devices) {
    for (const taint of taints) {
      if (taint.effect !== "NoExecute") continue;
      const matching = tolerations.filter((toleration) => toleratesDeviceTaint(toleration, taint));
      if (matching.some(({ tolerationSeconds }) => tolerationSeconds === undefined)) continue;
      const seconds = matching.map(({ tolerationSeconds = 0 }) => Math.max(0, tolerationSeconds));
      // The server gives every taint a time.
      const at = (Date.parse(taint.timeAdded ?? "") || 0) + Math.min(...seconds, seconds.length ? Infinity : 0) * 1000;
      due = Math.min(due ?? at, at);
    }
  }
  return due;
}
