import { StatusError } from "#api/status.ts";

/** Nothing can be created in the namespace any more, and a retry will not help. */
export const isNamespaceEnding = (error: unknown): error is StatusError =>
  error instanceof StatusError &&
  (error.details?.causes?.some(({ reason }) => reason === "NamespaceTerminating") ?? false);
