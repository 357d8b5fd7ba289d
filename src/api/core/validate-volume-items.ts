import { type FieldPath, invalidValue, requiredValue } from "#schema/field-error.ts";
import { type Faults } from "./faults.ts";
import { validateFieldRef, validateResourceRef, volumeFields } from "./validate-env.ts";
import { validateFilePath } from "./validate-path.ts";
import { type DownwardAPIVolumeFile, type KeyToPath } from "./volume.ts";

export function validateMode(mode: number | undefined, path: FieldPath, name: string, faults: Faults): void {
  if (mode === undefined || (mode >= 0 && mode <= 0o777)) return;
  const detail = "must be a number between 0 and 0777 (octal), both inclusive";
  faults.push(invalidValue(path.child(name), mode, detail));
}

export function validateItems(items: readonly KeyToPath[] | undefined, path: FieldPath, faults: Faults): void {
  for (const [index, item] of (items ?? []).entries()) {
    const at = path.index(index);
    validateFilePath(item.path, at.child("path"), faults);
    validateMode(item.mode, at, "mode", faults);
  }
}

export function validateDownwardFile(file: DownwardAPIVolumeFile, path: FieldPath, faults: Faults): void {
  const { fieldRef, resourceFieldRef } = file;
  validateFilePath(file.path, path.child("path"), faults);
  if (fieldRef) {
    validateFieldRef(fieldRef, volumeFields, path.child("fieldRef"), faults);
    if (resourceFieldRef) {
      const detail = "fieldRef and resourceFieldRef can not be specified simultaneously";
      faults.push(invalidValue(path, "resource", detail));
    }
  } else if (resourceFieldRef) {
    validateResourceRef(resourceFieldRef, "volume", path.child("resourceFieldRef"), faults);
  } else {
    faults.push(requiredValue(path, "one of fieldRef and resourceFieldRef is required"));
  }
  validateMode(file.mode, path, "mode", faults);
}
