import { convertOne } from "#api/conversion.ts";
import { type ApiObject, apiVersionOf, type Resource } from "#api/resource.ts";
import { StatusError, serviceUnavailable, tooLarge } from "#api/status.ts";
import { maxBodyBytes } from "#server/http/limits.ts";
import { StoreTimeoutError, StoreUnavailableError, ValueTooLargeError } from "#store/store.ts";

/** The object in the version that is stored. */
export function storedForm(resource: Resource, object: ApiObject): ApiObject | Promise<ApiObject> {
  const { storedAs, conversion } = resource;
  if (!storedAs) return object;
  if (!conversion) return storedAs.toStored(object);
  return convertOne(conversion, object, apiVersionOf(storedAs.resource)).then((made) => storedAs.toStored(made));
}

/** What the client gets if the store refuses. */
export function statusOf(error: unknown): unknown {
  if (error instanceof StoreUnavailableError) return serviceUnavailable(error.message, { cause: error });
  if (error instanceof StoreTimeoutError) return new StatusError("Timeout", error.message, {}, { cause: error });
  if (error instanceof ValueTooLargeError) return tooLarge(error.message);
  return error;
}

export const throwStatus = (error: unknown): never => {
  throw statusOf(error);
};

/** A character takes at most three bytes, so most texts need not be measured. */
export const isTooLong = (text: string): boolean =>
  text.length * 3 > maxBodyBytes && Buffer.byteLength(text) > maxBodyBytes;

/** Tests find out whether something has changed the spec since its text was made. */
export function checkSpec({ spec }: ApiObject & { readonly spec?: unknown }, text: string | undefined): void {
  if (text === undefined) return;
  const isObject = typeof spec === "object" && spec !== null;
  // A frozen spec that had this text has it still.
  if (isObject && checkedTexts.get(spec) === text) return;
  if (text !== JSON.stringify(spec)) throw new Error("the spec was changed after its validation");
  if (isObject && Object.isFrozen(spec)) checkedTexts.set(spec, text);
}
const checkedTexts = new WeakMap<object, string>();

export const keyOf = (resource: Resource, { metadata }: ApiObject): string => {
  const { storagePrefix } = resource.storedAs?.resource ?? resource;
  const { namespace, name } = metadata;
  return namespace ? `/registry/${storagePrefix}/${namespace}/${name}` : `/registry/${storagePrefix}/${name}`;
};

/** Of the cache of a kind. */
export const nameOf = ({ group, version, plural }: Resource): string => `${group}/${version}/${plural}`;
