import { embedded, optional } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { atomicList, int32, string } from "#schema/types.ts";
import { ListMeta, TypeMetaFields } from "./object-meta.ts";

const object = inPackage("meta/v1");

const StatusCause = object("StatusCause", "One cause of a failure.", {
  reason: optional(1, string(), "Type of the fault, as one CamelCase word."),
  message: optional(2, string(), "Description of the fault, for people."),
  field: optional(3, string(), "Path of the field that has the fault."),
});

/** The answer to a request that returns no object: a failure, or a plain success. */
export const Status = object("Status", "The result of a request that returns no object.", {
  ...TypeMetaFields,
  metadata: embedded(1, ListMeta, "Metadata of a list; empty in a Status."),
  status: optional(2, string(), "Result of the request: Success or Failure."),
  message: optional(3, string(), "Description of the result, for people."),
  reason: optional(4, string(), "Reason for the failure, as one CamelCase word."),
  details: object.nullable(5, "StatusDetails", "The object that the request failed for, and all causes.", {
    name: optional(1, string(), "Name of the object."),
    group: optional(2, string(), "API group of the object."),
    kind: optional(3, string(), "Resource of the object, or its kind for some failures."),
    uid: optional(6, string(), "UID of the object."),
    causes: optional(4, atomicList(StatusCause), "Every cause of the failure."),
    retryAfterSeconds: optional(5, int32(), "Seconds to wait before the request is sent again."),
  }),
  code: optional(6, int32(), "HTTP status code of the answer."),
});
export interface Status extends Infer<typeof Status> {}
