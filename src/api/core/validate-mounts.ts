import { type FieldPath, forbiddenValue, invalidValue, notFoundValue, unsupportedValue } from "#schema/field-error.ts";
import { type Container, type VolumeDevice, type VolumeMount } from "./container.ts";
import { type Faults } from "./faults.ts";
import { hasBackstep, validateDescendingPath } from "./validate-path.ts";
import { type Volume } from "./volume.ts";

type Mounter = Pick<Container, "volumeMounts" | "volumeDevices" | "securityContext">;
type Volumes = ReadonlyMap<string, Volume>;

/** A volume is mounted or used as a device, at a path of its own. */
export function validateMountsAndDevices(container: Mounter, volumes: Volumes, path: FieldPath, faults: Faults): void {
  const { volumeMounts = [], volumeDevices = [] } = container;
  if (volumeMounts.length > 0) validateMounts(container, volumes, path.child("volumeMounts"), faults);
  if (volumeDevices.length > 0) validateDevices(container, volumes, path.child("volumeDevices"), faults);
}

function validateMounts(
  { volumeMounts = [], volumeDevices = [], securityContext }: Mounter,
  volumes: Volumes,
  path: FieldPath,
  faults: Faults,
): void {
  const seen = new Set<string>();
  for (const [index, mount] of volumeMounts.entries()) {
    const at = path.index(index);
    const { name, mountPath } = mount;
    if (!volumes.has(name)) faults.push(notFoundValue(at.child("name"), name));
    if (seen.has(mountPath)) faults.push(invalidValue(at.child("mountPath"), mountPath, "must be unique"));
    seen.add(mountPath);
    if (volumeDevices.some((device) => device.name === name)) {
      faults.push(invalidValue(at.child("name"), name, "must not already exist in volumeDevices"));
    }
    if (volumeDevices.some((device) => device.devicePath === mountPath)) {
      const detail = "must not already exist as a path in volumeDevices";
      faults.push(invalidValue(at.child("mountPath"), mountPath, detail));
    }
    validateSubPath(mount, at, path, faults);
    validatePropagation(mount, securityContext?.privileged ?? false, path, faults);
  }
}

/** Upstream reports most faults of a sub-path at the list, not at the mount. */
function validateSubPath({ subPath, subPathExpr }: VolumeMount, at: FieldPath, list: FieldPath, faults: Faults): void {
  if (subPath) validateDescendingPath(subPath, list.child("subPath"), faults);
  if (!subPathExpr) return;
  if (subPath) {
    const detail = "subPathExpr and subPath are mutually exclusive";
    faults.push(invalidValue(at.child("subPathExpr"), subPathExpr, detail));
  }
  validateDescendingPath(subPathExpr, list.child("subPathExpr"), faults);
}

const propagations = ["Bidirectional", "HostToContainer", "None"];
const recursions = ["Disabled", "Enabled", "IfPossible"];

function validatePropagation(
  { mountPropagation, recursiveReadOnly, readOnly }: VolumeMount,
  privileged: boolean,
  path: FieldPath,
  faults: Faults,
): void {
  if (mountPropagation !== undefined && !propagations.includes(mountPropagation)) {
    faults.push(unsupportedValue(path.child("mountPropagation"), mountPropagation, propagations));
  }
  if (mountPropagation === "Bidirectional" && !privileged) {
    const detail = "Bidirectional mount propagation is available only to privileged containers";
    faults.push(forbiddenValue(path.child("mountPropagation"), detail));
  }
  if (recursiveReadOnly === undefined || recursiveReadOnly === "Disabled") return;
  const at = path.child("recursiveReadOnly");
  if (!recursions.includes(recursiveReadOnly)) {
    faults.push(unsupportedValue(at, recursiveReadOnly, recursions));
    return;
  }
  if (!readOnly) faults.push(forbiddenValue(at, "may only be specified when readOnly is true"));
  if (mountPropagation !== undefined && mountPropagation !== "None") {
    faults.push(forbiddenValue(at, "may only be specified when mountPropagation is None or not specified"));
  }
}

function validateDevices(
  { volumeMounts = [], volumeDevices = [] }: Mounter,
  volumes: Volumes,
  path: FieldPath,
  faults: Faults,
): void {
  const names = new Set<string>();
  const paths = new Set<string>();
  for (const [index, { name, devicePath }] of volumeDevices.entries()) {
    const at = path.index(index);
    const add = (field: keyof VolumeDevice, detail: string): void => {
      faults.push(invalidValue(at.child(field), field === "name" ? name : devicePath, detail));
    };
    const volume = volumes.get(name);
    if (names.has(name)) add("name", "must be unique");
    if (!volume) faults.push(notFoundValue(at.child("name"), name));
    else if (!volume.persistentVolumeClaim && !volume.ephemeral) {
      add("name", "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode");
    }
    if (paths.has(devicePath)) add("devicePath", "must be unique");
    if (hasBackstep(devicePath)) add("devicePath", "can not contain backsteps ('..')");
    if (volumeMounts.some((mount) => mount.name === name)) add("name", "must not already exist in volumeMounts");
    if (volumeMounts.some((mount) => mount.mountPath === devicePath)) {
      add("devicePath", "must not already exist as a path in volumeMounts");
    }
    names.add(name);
    paths.add(devicePath);
  }
}
