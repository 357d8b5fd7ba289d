import { forbidden, type StatusError } from "#api/status.ts";
import { type AdmissionRequest } from "./plugin.ts";

/** 403 for the object of the request; an object without a name yet is identified by its prefix. */
export function refusal({ resource, name, object }: AdmissionRequest, why: string): StatusError {
  const { name: objectName, generateName } = object?.metadata ?? {};
  return forbidden(resource, name || objectName || generateName || "Unknown", why);
}
