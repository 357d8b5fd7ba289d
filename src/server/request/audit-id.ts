import { type Context } from "./pipeline.ts";

/** Others are not taken over: the value goes into a header of the response. */
const usable = /^[\x21-\x7e]{1,256}$/;

/** The name of a request in its response and in audit events: the client's own, or else that of its trace. */
export function auditIdOf({ request, trace }: Pick<Context, "request" | "trace">): string {
  const asked = request.headers["audit-id"];
  return asked && usable.test(asked) ? asked : trace.traceId;
}
