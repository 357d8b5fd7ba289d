import type { ApiObject } from "./resource.ts";
import { BackendError, StatusError } from "./status.ts";

/** Converts the objects of a kind between its versions by a webhook. */
export interface Conversion {
  /** The objects in another version, in the same order: each one, or why it cannot be converted. */
  convert(objects: readonly ApiObject[], apiVersion: string): Promise<readonly (ApiObject | ConversionError)[]>;
}

/** An object cannot be had in a version. As in upstream, the error has no reason. */
export class ConversionError extends StatusError {
  /** The webhook did not answer: other objects would fare no better. */
  readonly isUnreachable: boolean;

  constructor(message: string, { isUnreachable = false }: { readonly isUnreachable?: boolean } = {}) {
    super("", message, undefined, { cause: new BackendError(message) });
    this.isUnreachable = isUnreachable;
  }
}

/** Throws ConversionError. */
export async function convertOne(conversion: Conversion, object: ApiObject, apiVersion: string): Promise<ApiObject> {
  const [converted] = await conversion.convert([object], apiVersion);
  if (!converted || converted instanceof ConversionError) {
    throw converted ?? new ConversionError("the conversion has no result");
  }
  return converted;
}
