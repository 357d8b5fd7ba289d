import { type Encoded } from "#api/exchange.ts";
import { type ApiObject, apiVersionOf, type Resource } from "#api/resource.ts";
import { createBriefHold } from "#lib/async/hold-briefly.ts";
import { BoundedCache } from "#lib/data/bounded-cache.ts";

/** The source of the joined bytes of a list; they are valid as long as the version does not change. */
export interface SharedList {
  readonly owner: object;
  readonly key: string;
  readonly version: number;
}

interface Joined {
  readonly version: number;
  readonly bytes: WeakRef<Uint8Array>;
}

/** Several clients that list the same unchanged namespace at the same time share the bytes. */
const joined = new WeakMap<object, BoundedCache<Joined>>();
const rememberedLists = { entries: 1000, chars: 64 * 1024, keyChars: 256 };
const minSharedItems = 64;
const hold = createBriefHold(2000);

/**
 * Items of a list have neither `kind` nor `apiVersion`, which the list says once for all. Upstream keeps them only in
 * items that it decodes without a type, which are those of custom resources.
 */
export const withoutType = ({ isJsonOnly }: Resource, { kind, apiVersion, ...rest }: ApiObject): object =>
  isJsonOnly ? { kind, apiVersion, ...rest } : rest;

/** The JSON of the items, separated by commas. */
export function joinedItems(resource: Resource, items: readonly Encoded[], shared: SharedList | undefined): Uint8Array {
  const join = resource.isJsonOnly ? joinWhole : (list: readonly Encoded[]) => joinCut(resource, list);
  if (!shared || items.length < minSharedItems) return join(items);
  let ofOwner = joined.get(shared.owner);
  if (!ofOwner) {
    ofOwner = new BoundedCache(rememberedLists);
    joined.set(shared.owner, ofOwner);
  }
  const known = ofOwner.get(shared.key);
  const found = known?.version === shared.version ? known.bytes.deref() : undefined;
  if (found) {
    hold(found);
    return found;
  }
  const bytes = join(items);
  hold(bytes);
  // A weak reference: without further requests, the next collection frees the memory.
  ofOwner.set(shared.key, { version: shared.version, bytes: new WeakRef(bytes) });
  return bytes;
}

/**
 * Each item without its head, `"kind":"Pod","apiVersion":"v1",`. It is copied whole, from the last item to the first, so
 * that its head falls on the end of the item before it, which is copied next. That costs as much as a plain copy.
 *
 *     {"kind":"Pod",…,"metadata":…}
 *                     {"kind":"Pod",…,"metadata":…}
 *                    ,{               "metadata":…}     after the second, which was copied first
 */
function joinCut(resource: Resource, items: readonly Encoded[]): Uint8Array {
  const head = Buffer.from(`"kind":"${resource.kind}","apiVersion":"${apiVersionOf(resource)}",`);
  const bodies = items.map((item) => bodyOf(resource, item, head));
  let at = head.length + Math.max(items.length - 1, 0);
  for (const body of bodies) at += body.length - head.length;
  const bytes = Buffer.allocUnsafeSlow(at);
  for (let n = bodies.length - 1; n >= 0; n--) {
    const body = bodies[n] as Uint8Array;
    at -= body.length;
    bytes.set(body, at);
    at += head.length;
    bytes[at] = openBrace;
    if (n > 0) bytes[--at] = comma;
  }
  return bytes.subarray(head.length);
}
const openBrace = 0x7b;
const comma = 0x2c;

/** The JSON of an item, which starts with the head. That of an object from another version is made so. */
function bodyOf(resource: Resource, item: Encoded, head: Buffer): Uint8Array {
  const json = item.json();
  if (hasHead(json, head)) return json;
  return Buffer.from(`{${head}${JSON.stringify(withoutType(resource, item.object)).slice(1)}`);
}

/** A loop, because it needs no view of the bytes. */
function hasHead(json: Uint8Array, head: Uint8Array): boolean {
  for (let n = 0; n < head.length; n++) if (json[n + 1] !== head[n]) return false;
  return true;
}

function joinWhole(items: readonly Encoded[]): Uint8Array {
  let size = Math.max(items.length - 1, 0);
  for (const item of items) size += item.json().length;
  const bytes = Buffer.allocUnsafeSlow(size);
  let at = 0;
  for (const item of items) {
    if (at > 0) bytes[at++] = comma;
    const json = item.json();
    bytes.set(json, at);
    at += json.length;
  }
  return bytes;
}
