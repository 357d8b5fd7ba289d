import { PersistentVolumeClaim } from "#api/core/persistent-volume/persistent-volume-claim.ts";
import { quantityValue } from "#api/meta/quantity.ts";
import type { Client } from "#client/client.ts";
import type { Growth, PersistentSource, VolumeContext } from "../plugin.ts";
import { csiCalls, csiCapability, type VolumeCapability } from "./csi-calls.ts";
import type { CsiDriver } from "./csi-drivers.ts";
import { secretData } from "./csi-secrets.ts";

/** Conditions of a claim that are about its growth. */
const resizeConditions = new Set(["Resizing", "FileSystemResizePending", "ControllerResizeError", "NodeResizeError"]);

export interface Expansion {
  readonly driver: CsiDriver;
  readonly source: PersistentSource;
  readonly capability: VolumeCapability;
  readonly target: string;
  readonly staging: string | undefined;
  readonly growth: Growth;
}

const timeoutMs = 120_000;

/** Lets the driver grow the file system of a volume that has grown. Returns whether it did. */
export async function expandOnNode(context: VolumeContext, expansion: Expansion): Promise<boolean> {
  const { driver, source, capability, target, staging, growth } = expansion;
  const { csi } = source;
  if (!csi || csi.readOnly || !driver.capabilities.has(csiCapability.expand)) return false;
  const request = {
    volumeId: csi.volumeHandle,
    volumePath: target,
    capacityRange: { requiredBytes: quantityValue(growth.size) },
    stagingTargetPath: staging,
    volumeCapability: capability,
    secrets: await secretData(context, csi.nodeExpandSecretRef),
  };
  await driver.client.call(csiCalls.expand, request, { timeoutMs });
  return true;
}

/** Writes the new size into the claim. */
export async function reportGrown(client: Client, { namespace, name, size }: Growth): Promise<void> {
  const claim = await client.get(PersistentVolumeClaim, { namespace, name });
  const { conditions = [], allocatedResourceStatuses = {}, ...rest } = claim.status;
  const { storage: _, ...states } = allocatedResourceStatuses;
  const left = conditions.filter(({ type }) => !resizeConditions.has(type));
  const status = {
    ...rest,
    capacity: { ...rest.capacity, storage: size },
    ...(left.length > 0 ? { conditions: left } : {}),
    ...(Object.keys(states).length > 0 ? { allocatedResourceStatuses: states } : {}),
  };
  await client.updateStatus(PersistentVolumeClaim, { ...claim, status });
}
