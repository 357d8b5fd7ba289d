import { embedded, nullable, optional } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { atomicList, int32, string } from "#schema/types.ts";
import { ListMeta, TypeMetaFields } from "./object-meta.ts";

const object = inPackage("meta/v1");

export const StatusCause = object("StatusCause", "One of the reasons of a failure.", {
  reason: optional(1, string(), "What kind of fault it is."),
  message: optional(2, string(), "Description of the fault, for a person to read."),
  field: optional(3, string(), "Path of the field that is at fault."),
});

export const StatusDetails = object("StatusDetails", "What a failure is about.", {
  name: optional(1, string(), "Name of the object."),
  group: optional(2, string(), "API group of the resource."),
  kind: optional(3, string(), "The resource, or for some failures its kind."),
  uid: optional(6, string(), "UID of the object."),
  causes: optional(4, atomicList(StatusCause), "Every single fault, where there are several."),
  retryAfterSeconds: optional(5, int32(), "Seconds to wait before another try."),
});

/** The answer that is no object: a failure, or a plain success. */
export const Status = object("Status", "The outcome of a request that has no object to return.", {
  ...TypeMetaFields,
  metadata: embedded(1, ListMeta, "Always empty."),
  status: optional(2, string(), "Success or Failure."),
  message: optional(3, string(), "Description of the outcome, for a person to read."),
  reason: optional(4, string(), "The reason of a failure, in one CamelCase word."),
  details: nullable(5, StatusDetails, "What the failure is about."),
  code: optional(6, int32(), "The HTTP status code."),
});
export interface Status extends Infer<typeof Status> {}
