import { embedded, type Infer, int32, list, nullable, object, optional, string } from "#schema/schema.ts";
import { ListMeta, TypeMetaFields } from "./object-meta.ts";

export const StatusCause = object(
  "meta/v1.StatusCause",
  {
    reason: optional(1, string(), "What kind of fault it is."),
    message: optional(2, string(), "The fault, for people."),
    field: optional(3, string(), "Path of the field that is at fault."),
  },
  { doc: "One of the reasons of a failure." },
);
export interface StatusCause extends Infer<typeof StatusCause> {}

export const StatusDetails = object(
  "meta/v1.StatusDetails",
  {
    name: optional(1, string(), "Name of the object."),
    group: optional(2, string(), "API group of the resource."),
    kind: optional(3, string(), "The resource, or for some failures its kind."),
    uid: optional(6, string(), "UID of the object."),
    causes: optional(4, list(StatusCause, { list: "atomic" }), "Every single fault, where there are several."),
    retryAfterSeconds: optional(5, int32(), "Seconds to wait before another try."),
  },
  { doc: "What a failure is about." },
);
export interface StatusDetails extends Infer<typeof StatusDetails> {}

/** The answer that is no object: a failure, or a plain success. */
export const Status = object(
  "meta/v1.Status",
  {
    ...TypeMetaFields,
    metadata: embedded(1, ListMeta, "Always empty."),
    status: optional(2, string(), "Success or Failure."),
    message: optional(3, string(), "What happened, for people."),
    reason: optional(4, string(), "What happened, in one word for programs."),
    details: nullable(5, StatusDetails, "What the failure is about."),
    code: optional(6, int32(), "The HTTP status code."),
  },
  { doc: "The outcome of a request that has no object to return." },
);
export interface Status extends Infer<typeof Status> {}
