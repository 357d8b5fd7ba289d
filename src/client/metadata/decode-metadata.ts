import { dns1123Label, pathSegmentName } from "#api/meta/names.ts";
import { ObjectMeta } from "#api/meta/object-meta.ts";
import { type ApiObject, apiVersionOf, type Resource } from "#api/resource.ts";
import { StatusError } from "#api/status.ts";
import { isObject } from "#lib/data/json-object.ts";
import { decode } from "#schema/json/decode.ts";

/** What controllers need to know about an object of any kind. Everything else is not even looked at. */
const fields = [
  "name",
  "namespace",
  "uid",
  "resourceVersion",
  "deletionTimestamp",
  "finalizers",
  "ownerReferences",
] as const;

const maxNameLength = 253;
/** Each owner is looked up, one after the other. */
const maxOwners = 1000;
const maxFinalizers = 1000;
const maxBytes = 256 << 10;

export interface Metadata {
  /** It has nothing but metadata. */
  readonly object: ApiObject;
  /** About as much as it takes in memory. */
  readonly bytes: number;
}

/** Where the object should be; what is not given may be anything. */
export interface Expected {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
}

/** The metadata of an object that another server sent. Throws a StatusError if it is malformed. */
export function decodeMetadata(resource: Resource, raw: unknown, expected: Expected = {}): Metadata {
  const metadata = isObject(raw) ? raw.metadata : undefined;
  if (!isObject(metadata)) throw malformed(resource, "it has no metadata");
  const picked: Record<string, unknown> = {};
  for (const field of fields) if (metadata[field] !== undefined) picked[field] = metadata[field];
  // Before they are decoded, as that makes a copy.
  for (const [field, max] of [["ownerReferences", maxOwners] as const, ["finalizers", maxFinalizers] as const]) {
    const list = picked[field];
    if (Array.isArray(list) && list.length > max) throw malformed(resource, `${field} has more than ${max} items`);
  }
  const value = decoded(resource, picked);
  const fault = faultOf(resource, value, expected);
  if (fault) throw malformed(resource, fault);
  const bytes = 2 * JSON.stringify(value).length + overheadBytes;
  if (bytes > maxBytes) throw malformed(resource, `its metadata takes ${bytes} bytes, the limit is ${maxBytes}`);
  return { object: { metadata: value }, bytes };
}
const overheadBytes = 512;

function decoded(resource: Resource, picked: unknown): ObjectMeta {
  try {
    return decode(ObjectMeta, picked, { defaults: false }).value;
  } catch (error) {
    throw malformed(resource, error instanceof Error ? error.message.slice(0, 200) : "it cannot be decoded");
  }
}

function faultOf({ scope }: Resource, metadata: ObjectMeta, expected: Expected): string | undefined {
  const { name = "", namespace = "" } = metadata;
  if (name === "" || name.length > maxNameLength || pathSegmentName(name)) return "its name is not one";
  if (scope === "Cluster" && namespace !== "") return "it has a namespace, but its kind has none";
  if (scope === "Namespaced" && dns1123Label(namespace)) return "its namespace is not one";
  if (expected.name !== undefined && expected.name !== name) return "it is another object than was asked for";
  const isElsewhere = expected.namespace !== undefined && expected.namespace !== namespace;
  return isElsewhere ? "it is in another namespace than was asked for" : undefined;
}

export const malformed = (resource: Resource, fault: string): StatusError =>
  new StatusError("InternalError", `${serverName(resource)} sent a malformed ${resource.kind}: ${fault}`);

/** The APIService and the service behind it. */
export const serverName = (resource: Resource): string =>
  `the server of ${apiVersionOf(resource)} (service ${resource.remoteServer ?? "unknown"})`;
