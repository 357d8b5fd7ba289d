import { type ApiObject, type Resource } from "#api/resource.ts";
import { type AdmissionRequest, type WriteType } from "./plugin.ts";

/** The object with the type of its kind, if the request is about that kind. The only place that asserts the type. */
export function objectOf<T extends ApiObject>(resource: Resource<T>, request: AdmissionRequest): T | undefined {
  return isAbout(resource, request) ? (request.object as T | undefined) : undefined;
}

/** The same for the current object. */
export function oldObjectOf<T extends ApiObject>(resource: Resource<T>, request: AdmissionRequest): T | undefined {
  return isAbout(resource, request) ? (request.oldObject as T | undefined) : undefined;
}

/** Whether the request is about this kind or one of its subresources. */
export const isAbout = (
  resource: Pick<Resource, "group" | "plural">,
  request: Pick<AdmissionRequest, "resource">,
): boolean => request.resource.plural === resource.plural && request.resource.group === resource.group;

/** Whether the request creates or changes an object of this kind itself, not a subresource. */
export const isWriteOf = (resource: Pick<Resource, "group" | "plural">, request: WriteType): boolean =>
  isAbout(resource, request) &&
  request.subresource === "" &&
  (request.operation === "CREATE" || request.operation === "UPDATE");

/** The body of a subresource with another kind, such as a TokenRequest, if it is that kind. */
export const bodyOf = <T extends ApiObject>(body: Resource<T>, { object }: AdmissionRequest): T | undefined =>
  object?.kind === body.kind ? (object as T) : undefined;
