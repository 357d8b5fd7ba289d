import { type FieldPath, invalidValue } from "#schema/field-error.ts";
import { type Faults } from "./faults.ts";

/** A path without `..`. */
export function validateNoBacksteps(value: string, path: FieldPath, faults: Faults): void {
  if (hasBackstep(value)) faults.push(invalidValue(path, value, "must not contain '..'"));
}

export const hasBackstep = (value: string): boolean => value.includes("..") && value.split("/").includes("..");

/** A relative path without `..`. */
export function validateDescendingPath(value: string, path: FieldPath, faults: Faults): void {
  if (value.startsWith("/")) faults.push(invalidValue(path, value, "must be a relative path"));
  validateNoBacksteps(value, path, faults);
}

/** The same where names that start with `..` belong to the kubelet. */
export function validateFilePath(value: string, path: FieldPath, faults: Faults): void {
  validateDescendingPath(value, path, faults);
  if (value.startsWith("..") && !value.startsWith("../")) {
    faults.push(invalidValue(path, value, "must not start with '..'"));
  }
}
