import { type Encoded } from "#api/exchange.ts";
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

/** The JSON of the items, separated by commas. */
export function joinedItems(items: readonly Encoded[], shared: SharedList | undefined): Uint8Array {
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

function join(items: readonly Encoded[]): Uint8Array {
  let size = Math.max(items.length - 1, 0);
  for (const item of items) size += item.json().length;
  const bytes = Buffer.allocUnsafeSlow(size);
  let at = 0;
  for (const item of items) {
    if (at > 0) bytes[at++] = 0x2c;
    const json = item.json();
    bytes.set(json, at);
    at += json.length;
  }
  return bytes;
}
