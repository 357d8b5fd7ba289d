import { compareQuantities } from "#api/meta/quantity.ts";
import { type PersistentVolumeClaim } from "./persistent-volume-claim.ts";

/** Whether a bound claim asks for more than it has. */
export function isGrowing({ spec, status }: PersistentVolumeClaim): boolean {
  const { requests } = spec.resources;
  if (status.phase !== "Bound" || !requests?.storage || !status.capacity?.storage) return false;
  return compareQuantities(requests.storage, status.capacity.storage) > 0;
}
