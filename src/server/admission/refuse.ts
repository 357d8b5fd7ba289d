import { forbidden, type StatusError } from "#api/status.ts";
import { type AdmissionRequest } from "./plugin.ts";

/** 403 about the object of the request; one whose name is yet to be made is called by its prefix. */
export function refusal({ resource, name, object }: AdmissionRequest, why: string): StatusError {
  const { name: objectName, generateName } = object?.metadata ?? {};
  return forbidden(resource, name || objectName || generateName || "Unknown", why);
}
