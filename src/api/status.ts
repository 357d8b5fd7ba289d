import { messageOf } from "#lib/text/message-of.ts";
import { type FieldError } from "#schema/field-error.ts";
import { groupResource, type Resource } from "./resource.ts";

const codes = {
  BadRequest: 400,
  Unauthorized: 401,
  Forbidden: 403,
  NotFound: 404,
  MethodNotAllowed: 405,
  NotAcceptable: 406,
  Conflict: 409,
  AlreadyExists: 409,
  Gone: 410,
  Expired: 410,
  RequestEntityTooLarge: 413,
  UnsupportedMediaType: 415,
  Invalid: 422,
  TooManyRequests: 429,
  InternalError: 500,
  ServiceUnavailable: 503,
  ServerTimeout: 500,
  Timeout: 504,
} as const;

export type Reason = keyof typeof codes;
export interface Details {
  name?: string;
  group?: string;
  kind?: string;
  uid?: string;
  causes?: readonly Cause[];
  retryAfterSeconds?: number;
}
export interface Cause {
  reason?: string;
  message?: string;
  field?: string;
}

/** The one error that crosses an API boundary: thrown by the server, rebuilt by the client. */
export class StatusError extends Error {
  override readonly name = "StatusError";
  readonly reason: Reason | "";
  readonly details: Details | undefined;
  readonly code: number;

  constructor(reason: Reason | "", message: string, details?: Details, options?: ErrorOptions & { code?: number }) {
    super(message, options);
    this.reason = reason;
    this.details = details;
    this.code = options?.code ?? (reason ? codes[reason] : 500);
  }
  toJSON() {
    const { message, reason, details, code } = this;
    return {
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message,
      ...(reason ? { reason } : {}),
      ...(details ? { details } : {}),
      code,
    };
  }
}

/** Rebuilds the error from what came over the wire. */
export function statusErrorFrom(body: {
  message?: string;
  reason?: string;
  details?: Details;
  code?: number;
}): StatusError {
  const reason = body.reason && body.reason in codes ? (body.reason as Reason) : "";
  return new StatusError(reason, body.message ?? "unknown error", body.details, body.code ? { code: body.code } : {});
}

export const isStatus = (error: unknown, reason: Reason): error is StatusError =>
  error instanceof StatusError && error.reason === reason;
export const isNotFound = (error: unknown): error is StatusError => isStatus(error, "NotFound");
/** For an object that may be gone by now: `await client.delete(Pod, pod).catch(ignoreNotFound)`. */
export function ignoreNotFound(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
}
export const isAlreadyExists = (error: unknown): error is StatusError => isStatus(error, "AlreadyExists");
/** The server has refused the request, so nothing was written. After any other error, it may have been. */
export const isRefusal = (error: unknown): error is StatusError =>
  error instanceof StatusError && error.code >= 400 && error.code < 500;

export const isConflict = (error: unknown): error is StatusError => isStatus(error, "Conflict");
export const isForbidden = (error: unknown): error is StatusError => isStatus(error, "Forbidden");
/** The watch or list must start over. */
export const isExpired = (error: unknown): error is StatusError => error instanceof StatusError && error.code === 410;

type Named = Pick<Resource, "group" | "plural" | "kind">;
const about = (resource: Named, name: string): Details => ({
  ...(name ? { name } : {}),
  ...(resource.group ? { group: resource.group } : {}),
  kind: resource.plural,
});
const quoted = (resource: Named, name: string): string =>
  `${groupResource(resource, resource.plural)} ${JSON.stringify(name)}`;

export const notFound = (resource: Named, name: string): StatusError =>
  new StatusError("NotFound", `${quoted(resource, name)} not found`, about(resource, name));
export const alreadyExists = (resource: Named, name: string): StatusError =>
  new StatusError("AlreadyExists", `${quoted(resource, name)} already exists`, about(resource, name));
export const conflict = (resource: Named, name: string, why: string): StatusError =>
  new StatusError(
    "Conflict",
    `Operation cannot be fulfilled on ${quoted(resource, name)}: ${why}`,
    about(resource, name),
  );
/** The second of two concurrent updates gets this error. */
export const staleObject = (resource: Named, name: string): StatusError =>
  conflict(
    resource,
    name,
    "the object has been modified; please apply your changes to the latest version and try again",
  );
export const forbidden = (resource: Named, name: string, why: string): StatusError =>
  new StatusError(
    "Forbidden",
    `${groupResource(resource, resource.plural)}${name ? ` ${JSON.stringify(name)}` : ""} is forbidden: ${why}`,
    about(resource, name),
  );
export const badRequest = (message: string): StatusError => new StatusError("BadRequest", message);
export const unauthorized = (message = "Unauthorized"): StatusError => new StatusError("Unauthorized", message);
export const methodNotAllowed = (): StatusError =>
  new StatusError("MethodNotAllowed", "the server does not allow this method on the requested resource", {});
export const expired = (message: string): StatusError => new StatusError("Expired", message);
export const unsupportedMediaType = (message: string): StatusError =>
  new StatusError("UnsupportedMediaType", message, {});
export const notAcceptable = (message: string): StatusError => new StatusError("NotAcceptable", message, {});
export const tooLarge = (message: string): StatusError => new StatusError("RequestEntityTooLarge", message);
/** The client should try again after a second. */
export const tooManyRequests = (message: string): StatusError =>
  new StatusError("TooManyRequests", message, { retryAfterSeconds: 1 });
/** The server has no room for the request. Upstream answers this one as plain text. */
export class TooBusyError extends StatusError {
  constructor(retryAfterSeconds: number) {
    super("TooManyRequests", "Too many requests, please try again later.", { retryAfterSeconds });
  }
}
/** A request that took longer than the server allows. */
export const requestTimeout = (): StatusError =>
  new StatusError("Timeout", "Timeout: request did not complete within the allotted timeout", {});
export const serviceUnavailable = (message: string, options?: ErrorOptions): StatusError =>
  new StatusError("ServiceUnavailable", message, undefined, options);
export const internalError = (cause: unknown): StatusError =>
  new StatusError(
    "InternalError",
    `Internal error occurred: ${messageOf(cause)}`,
    { causes: [{ message: messageOf(cause) }] },
    { cause },
  );

/** Nobody reads more, and the answer must not be much longer than the request. */
const maxFaults = 1000;

/** The faults of an object in one answer, each with its path. */
export function invalid(
  resource: Pick<Resource, "group" | "kind">,
  name: string,
  found: readonly FieldError[],
): StatusError {
  const faults = found.slice(0, maxFaults);
  const causes = faults.map(({ path, reason, message }) => ({ reason, message, field: path }));
  const lines = [...new Set(faults.map(({ path, message }) => (path ? `${path}: ${message}` : message)))];
  const text = lines.length === 1 ? lines[0] : `[${lines.join(", ")}]`;
  const kind = groupResource(resource, resource.kind);
  const details = {
    ...(name ? { name } : {}),
    ...(resource.group ? { group: resource.group } : {}),
    ...(resource.kind ? { kind: resource.kind } : {}),
  };
  return new StatusError("Invalid", `${kind} ${JSON.stringify(name)} is invalid: ${text}`, { ...details, causes });
}

/** The cause of a StatusError whose request failed at a pod, a node or a webhook that the server called. */
export class BackendError extends Error {
  override readonly name = "BackendError";
}
