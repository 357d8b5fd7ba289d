import { type ApiObject, type Resource } from "#api/resource.ts";
import { isObject } from "#lib/data/json-object.ts";
import { type Client, type ListCallOptions, type ObjectList, refOf } from "../client.ts";
import { decodeMetadata, type Metadata, malformed } from "./decode-metadata.ts";

/**
 * The same client, but of the objects of other servers it knows only the metadata, which it checks: those servers may
 * send anything. A malformed answer is an error.
 */
export function metadataClient(client: Client): Client {
  // A Resource of another server has no fields, so its objects are nothing but metadata.
  const only = <T>({ object }: Metadata): T => object as T;
  return {
    ...client,
    async get(resource, ref, options) {
      const answer = await client.get(resource, ref, options);
      return resource.isRemote ? only(decodeMetadata(any(resource), answer, placeOf(any(resource), ref))) : answer;
    },
    async list<T extends ApiObject>(resource: Resource<T>, options: ListCallOptions = {}): Promise<ObjectList<T>> {
      const answer = await client.list(resource, options);
      if (!resource.isRemote) return answer;
      const { items, metadata } = checkedList(any(resource), answer);
      const { namespace } = options;
      return { items: items.map((item) => only(decodeMetadata(any(resource), item, { namespace }))), metadata };
    },
    async patch(resource, ref, patch, options) {
      const answer = await client.patch(resource, ref, patch, options);
      return resource.isRemote ? only(decodeMetadata(any(resource), answer, placeOf(any(resource), ref))) : answer;
    },
  };
}

const any = (resource: unknown): Resource => resource as Resource;

const placeOf = ({ scope }: Resource, ref: Parameters<typeof refOf>[0]) => {
  const { name, namespace } = refOf(ref);
  return { name, namespace: scope === "Namespaced" ? namespace : "" };
};

/** A list whose items may still be anything. */
export function checkedList(resource: Resource, answer: unknown): ObjectList<unknown> {
  const { items, metadata } = isObject(answer) ? answer : {};
  // In Go an empty list may be null.
  const all = items ?? [];
  if (!Array.isArray(all) || !isObject(metadata)) throw malformed(resource, "its list is not one");
  const { resourceVersion = "", continue: next, remainingItemCount: left } = metadata;
  if (typeof resourceVersion !== "string" || resourceVersion.length > maxTokenLength) {
    throw malformed(resource, "the version of its list is not one");
  }
  if (next !== undefined && (typeof next !== "string" || next.length > maxTokenLength)) {
    throw malformed(resource, "its list goes on in an impossible way");
  }
  // Otherwise it could go on forever.
  if (next && all.length === 0) throw malformed(resource, "its list has an empty page, but goes on");
  const remaining = Number.isSafeInteger(left) && Number(left) > 0 ? { remainingItemCount: Number(left) } : {};
  return { items: all, metadata: { resourceVersion, ...(next ? { continue: next } : {}), ...remaining } };
}
const maxTokenLength = 64 << 10;
