import { type Cursor } from "../cursor.ts";
import { qualifiedName } from "../meta/names.ts";

const maxParameters = 512;
const maxBytes = 256 * 1024;

/** Checks the settings of a class for its driver. */
export function validateParameters(at: Cursor<Readonly<Record<string, string>> | undefined>): void {
  const parameters = Object.entries(at.value ?? {});
  if (parameters.length > maxParameters) {
    at.tooLong(maxParameters);
    return;
  }
  if (parameters.some(([name]) => name === "")) at.invalid("field can not be empty.", "");
  const bytes = parameters.reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + Buffer.byteLength(value), 0);
  if (bytes > maxBytes) at.tooLong(maxBytes);
}

/** Checks the name of the driver that a class is for. The schema checks that it is set. */
export function validateProvisioner(at: Cursor<string>): void {
  if (at.value) at.rule(qualifiedName, at.value.toLowerCase());
}
