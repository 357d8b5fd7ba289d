import { type DownwardAPIVolumeFile, type KeyToPath } from "#api/core/volume/volume.ts";
import { type Cursor } from "#api/cursor.ts";
import { validateFieldRef, validateResourceRef, volumeFields } from "../validate-env.ts";
import { validateFilePath } from "./validate-path.ts";

export function validateMode(at: Cursor<number>): void {
  if (at.value >= 0 && at.value <= 0o777) return;
  at.invalid("must be a number between 0 and 0777 (octal), both inclusive");
}

interface KeyFiles {
  readonly name?: string;
  readonly secretName?: string;
  readonly defaultMode: number;
  readonly items?: KeyToPath[];
}

/** The keys of a ConfigMap or Secret as files; `name` is the field that names it. */
export function validateKeyFiles(at: Cursor<KeyFiles>, name: "name" | "secretName"): void {
  at.field(name).required();
  at.on("defaultMode", validateMode);
  at.each("items", validateItem);
}

export function validateItem(at: Cursor<KeyToPath>): void {
  validateFilePath(at.field("path"));
  at.on("mode", validateMode);
}

/** Upstream reports faults of a file at the volume. */
export function validateDownwardFile(at: Cursor<DownwardAPIVolumeFile>): void {
  const { fieldRef, resourceFieldRef } = at.value;
  validateFilePath(at.field("path"));
  if (fieldRef) {
    at.on("fieldRef", (at) => validateFieldRef(at, volumeFields));
    if (resourceFieldRef) {
      at.invalid("fieldRef and resourceFieldRef can not be specified simultaneously", "resource");
    }
  } else if (resourceFieldRef) at.on("resourceFieldRef", (at) => validateResourceRef(at, "volume"));
  else at.missing("one of fieldRef and resourceFieldRef is required");
  at.on("mode", validateMode);
}
