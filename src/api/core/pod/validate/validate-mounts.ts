import { type Container, type VolumeMount } from "#api/core/container/container.ts";
import { type Volume } from "#api/core/volume/volume.ts";
import { type Cursor } from "#api/cursor.ts";
import { hasBackstep, validateDescendingPath } from "./volumes/validate-path.ts";

type Mounter = Pick<Container, "volumeMounts" | "volumeDevices" | "securityContext">;
type Volumes = ReadonlyMap<string, Volume>;

/** A volume is mounted or used as a device, at a path of its own. */
export function validateMountsAndDevices(at: Cursor<Mounter>, volumes: Volumes): void {
  if (at.value.volumeMounts?.length) validateMounts(at, volumes);
  if (at.value.volumeDevices?.length) validateDevices(at, volumes);
}

function validateMounts(container: Cursor<Mounter>, volumes: Volumes): void {
  const { volumeDevices = [], securityContext } = container.value;
  const deviceNames = new Set(volumeDevices.map(({ name }) => name));
  const devicePaths = new Set(volumeDevices.map(({ devicePath }) => devicePath));
  const seen = new Set<string>();
  container.each("volumeMounts", (at) => {
    const { name, mountPath } = at.value;
    if (!volumes.has(name)) at.field("name").notFound();
    if (seen.has(mountPath)) at.field("mountPath").invalid("must be unique");
    seen.add(mountPath);
    if (deviceNames.has(name)) {
      at.field("name").invalid("must not already exist in volumeDevices");
    }
    if (devicePaths.has(mountPath)) {
      at.field("mountPath").invalid("must not already exist as a path in volumeDevices");
    }
    // Upstream reports most faults of a mount at the list.
    const list = container.under("volumeMounts");
    validateSubPath(at, list);
    validatePropagation(list.under("mountPropagation"), at.value, securityContext?.privileged ?? false);
    validateRecursion(list.under("recursiveReadOnly"), at.value);
  });
}

function validateSubPath(at: Cursor<VolumeMount>, list: Cursor): void {
  const { subPath, subPathExpr } = at.value;
  if (subPath) validateDescendingPath(list.under("subPath").as(subPath));
  if (!subPathExpr) return;
  if (subPath) at.field("subPathExpr").invalid("subPathExpr and subPath are mutually exclusive");
  validateDescendingPath(list.under("subPathExpr").as(subPathExpr));
}

const propagations = ["Bidirectional", "HostToContainer", "None"];
const recursions = ["Disabled", "Enabled", "IfPossible"];

function validatePropagation(at: Cursor, { mountPropagation: mode }: VolumeMount, privileged: boolean): void {
  if (mode !== undefined && !propagations.includes(mode)) at.unsupported(propagations, mode);
  if (mode === "Bidirectional" && !privileged) {
    at.forbidden("Bidirectional mount propagation is available only to privileged containers");
  }
}

function validateRecursion(at: Cursor, { recursiveReadOnly, readOnly, mountPropagation }: VolumeMount): void {
  if (recursiveReadOnly === undefined || recursiveReadOnly === "Disabled") return;
  if (!recursions.includes(recursiveReadOnly)) {
    at.unsupported(recursions, recursiveReadOnly);
    return;
  }
  if (!readOnly) at.forbidden("may only be specified when readOnly is true");
  if (mountPropagation !== undefined && mountPropagation !== "None") {
    at.forbidden("may only be specified when mountPropagation is None or not specified");
  }
}

function validateDevices(container: Cursor<Mounter>, volumes: Volumes): void {
  const { volumeMounts = [] } = container.value;
  const mountNames = new Set(volumeMounts.map(({ name }) => name));
  const mountPaths = new Set(volumeMounts.map(({ mountPath }) => mountPath));
  const names = new Set<string>();
  const paths = new Set<string>();
  container.each("volumeDevices", (at) => {
    const { name, devicePath } = at.value;
    const volume = volumes.get(name);
    if (names.has(name)) at.field("name").invalid("must be unique");
    if (!volume) at.field("name").notFound();
    else if (!volume.persistentVolumeClaim && !volume.ephemeral) {
      const detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
      at.field("name").invalid(detail);
    }
    if (paths.has(devicePath)) at.field("devicePath").invalid("must be unique");
    if (hasBackstep(devicePath)) at.field("devicePath").invalid("can not contain backsteps ('..')");
    if (mountNames.has(name)) {
      at.field("name").invalid("must not already exist in volumeMounts");
    }
    if (mountPaths.has(devicePath)) {
      at.field("devicePath").invalid("must not already exist as a path in volumeMounts");
    }
    names.add(name);
    paths.add(devicePath);
  });
}
