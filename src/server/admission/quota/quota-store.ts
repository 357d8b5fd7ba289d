import { ResourceQuota } from "#api/core/resource-quota.ts";
import { isNotFound } from "#api/status.ts";
import { type Objects } from "#server/objects/objects.ts";
import { type ChargeQueueDeps } from "./charge-queue.ts";

/** Stores charges directly: the server itself made them from a valid quota, so no other check applies. */
export const quotaStore =
  (objects: Pick<Objects, "replace">): ChargeQueueDeps["store"] =>
  async (quota) => {
    const expected = Number(quota.metadata.resourceVersion);
    try {
      const stored = await objects.replace(ResourceQuota, { ...quota, metadata: { ...quota.metadata } }, expected);
      return stored !== undefined;
    } catch (error) {
      // A quota that was deleted limits nothing any more.
      if (isNotFound(error)) return true;
      throw error;
    }
  };
