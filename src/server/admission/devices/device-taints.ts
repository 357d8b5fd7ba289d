import { ResourceSlice } from "#api/devices/resource-slice.ts";
import { type Clock, timestamp } from "#lib/async/clock.ts";
import { isWriteOf, objectOf } from "#server/admission/object-of.ts";
import { type AdmissionPlugin } from "#server/admission/plugin.ts";

/** Records when a device was tainted, if its driver has not. Upstream does this with its defaults. */
export const deviceTaints = ({ clock }: { readonly clock: Clock }): AdmissionPlugin => ({
  name: "DeviceTaintTime",
  runs: "always",
  appliesTo: (request) => isWriteOf(ResourceSlice, request),

  mutate(request) {
    const now = timestamp(clock.now());
    for (const { taints = [] } of objectOf(ResourceSlice, request)?.spec.devices ?? []) {
      for (const taint of taints) taint.timeAdded ??= now;
    }
  },
});
