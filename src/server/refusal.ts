import { StatusError } from "#api/status.ts";
import { ownText } from "#lib/data/bounded-cache.ts";

/** A StatusError is a plugin's answer to the client; any other error means that the plugin is broken. */
export const refusalOrFault = (error: unknown): "refusal" | "fault" =>
  error instanceof StatusError ? "refusal" : "fault";

/** Who refused a request and why, for `orlop why`. The caller is not told more than the error says. */
export interface RefusalCause {
  /** `plugin PodSecurity`, `ValidatingAdmissionPolicy replicas`, `webhook guard.example.com`. */
  readonly by: string;
  readonly binding?: string | undefined;
  readonly configuration?: string | undefined;
  readonly expression?: string | undefined;
  /** What the names in the expression stood for: `object.spec.replicas = 5`. */
  readonly values?: readonly string[] | undefined;
}

const causes = new WeakMap<object, RefusalCause>();
/** Causes are kept with the hops of a trace, so their texts are limited. */
const maxChars = 512;

/** Notes the cause of a refusal, or of a fault that becomes one. The first cause counts. */
export function because<E extends object>(refusal: E, { expression, ...cause }: RefusalCause): E {
  if (causes.has(refusal)) return refusal;
  causes.set(refusal, { ...cause, ...(expression ? { expression: shortExpression(expression) } : {}) });
  return refusal;
}

/** An expression as it is kept with a hop. */
export const shortExpression = (expression: string): string =>
  expression.length > maxChars ? ownText(expression, maxChars) : expression;

export const causeOf = (refusal: unknown): RefusalCause | undefined =>
  typeof refusal === "object" && refusal !== null ? causes.get(refusal) : undefined;
