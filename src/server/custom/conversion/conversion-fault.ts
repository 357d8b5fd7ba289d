import { type ApiObject, groupOf } from "#api/resource.ts";

/** The labels of upstream's metrics. */
export type FaultType =
  | "conversion_webhook_call_failure"
  | "conversion_webhook_malformed_response_failure"
  | "conversion_webhook_partial_response_failure"
  | "conversion_webhook_invalid_converted_object_failure";

/** What is wrong with an answer. `told` follows the kind of the object in the message. */
export class ConversionFault extends Error {
  override readonly name = "ConversionFault";
  readonly type: FaultType;

  constructor(type: FaultType, told: string, options?: ErrorOptions) {
    super(told, options);
    this.type = type;
  }
}

/** As Go prints the kind of an object. */
export function shownKind({ apiVersion = "", kind = "" }: Pick<ApiObject, "apiVersion" | "kind">): string {
  const group = groupOf(apiVersion);
  const version = apiVersion.slice(group ? group.length + 1 : 0);
  return `${group}/${version}, Kind=${kind}`;
}
