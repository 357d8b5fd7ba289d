import { type Context } from "./pipeline.ts";

/** Longer ones are not taken over. */
const maxChars = 256;

/** The name of a request in its response and in audit events: the client's own, or else that of its trace. */
export function auditIdOf({ request, trace }: Pick<Context, "request" | "trace">): string {
  const asked = request.headers["audit-id"];
  return asked && asked.length <= maxChars ? asked : trace.traceId;
}
