import { ConversionError } from "#api/conversion.ts";
import { groupResource, type Resource } from "#api/resource.ts";
import { type Place } from "#api/unreadable.ts";
import { compareText } from "#lib/data/compare-text.ts";
import { type EncodedObject } from "#server/objects/encode-once.ts";
import { type Selection } from "#server/objects/selection.ts";
import { encodedUnreadable, faultOf, statusOf } from "#server/objects/unreadable.ts";
import { entryName } from "#server/objects/watch-history.ts";
import { type Entry } from "#store/store.ts";

interface Unreadable extends Place {
  readonly revision: number;
  readonly fault: Error;
}

interface Listing {
  readonly resource: Resource;
  readonly selection: Selection;
  readonly warnings: string[];
}

/** More names would not be read. */
const maxWarnings = 10;

/** The items of a list, with those that cannot be decrypted in their places. */
export function withUnreadable(
  items: readonly EncodedObject[],
  hidden: readonly Unreadable[],
  listing: Listing,
): EncodedObject[] {
  const shown = named(hidden, listing);
  const names = new Set(hidden.map(keyOf));
  const readable = items.filter(({ object }) => !names.has(keyOf(placeOf(object))));
  return [...readable, ...shown].sort((a, b) => compareText(keyOf(placeOf(a.object)), keyOf(placeOf(b.object))));
}

/**
 * What a list shows of objects that cannot be decrypted: their names, unless a selector asks for what is unknown. A list
 * of one object fails as a read of it does.
 */
export function named(hidden: readonly Unreadable[], { resource, selection, warnings }: Listing): EncodedObject[] {
  refuseUnconverted(hidden);
  const asked = hidden.find(({ name }) => name === selection.name);
  if (asked) throw statusOf(asked.fault);
  if (selection.name !== undefined) return [];
  for (const { namespace, name, fault } of hidden) {
    if (warnings.length >= maxWarnings) break;
    const place = namespace ? ` in namespace ${JSON.stringify(namespace)}` : "";
    const kind = groupResource(resource, resource.plural);
    warnings.push(`${kind} ${JSON.stringify(name)}${place} cannot be decrypted: ${fault.message}`);
  }
  if (!selection.everything) return [];
  return hidden.map((each) => encodedUnreadable(resource, each, each.revision));
}

/** As upstream, one object that cannot be converted is enough to refuse a list or a watch. */
export function refuseUnconverted(hidden: readonly Unreadable[]): void {
  const lost = hidden.find(({ fault }) => fault instanceof ConversionError);
  if (lost) throw lost.fault;
}

export function unreadableEntry(prefix: string, entry: Entry): Unreadable {
  const fault = faultOf(entry) ?? new Error("unable to decrypt");
  return { ...entryName(prefix, entry.key), revision: entry.revision, fault };
}

const placeOf = ({ metadata }: EncodedObject["object"]): Place => ({
  namespace: metadata.namespace ?? "",
  name: metadata.name ?? "",
});
const keyOf = ({ namespace, name }: Place): string => (namespace ? `${namespace}/${name}` : name);
