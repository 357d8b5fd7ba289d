import { type Evaluate, type Library, overload } from "../declare/function.ts";
import { twoVariableMacros } from "../syntax/macros.ts";
import { mapType, typeParameter } from "../types/type.ts";
import { type Entry, EntryMap, GrowingMap, type Key, keyOf, type MapValue } from "../values/collections.ts";
import { renderValue } from "../values/render.ts";
import { CelError, type Value } from "../values/value.ts";

const map = mapType(typeParameter("K"), typeParameter("V"));

/** In a loop the map is the loop's own, and grows. */
const growing = (map: MapValue): EntryMap => (map instanceof GrowingMap ? map : new EntryMap(copyOf(map)));

function insert(map: EntryMap, entry: Entry): CelError | undefined {
  const key = keyOf(entry.key);
  if (key === undefined) return new CelError("unsupported key type");
  if (map.content.has(key)) return new CelError(`insert failed: key ${renderValue(entry.key)} already exists`);
  map.content.set(key, entry);
  return undefined;
}

function copyOf(map: MapValue): Map<Key, Entry> {
  const content = new Map<Key, Entry>();
  for (const entry of map.entries()) {
    const key = keyOf(entry.key);
    if (key !== undefined) content.set(key, entry);
  }
  return content;
}

/** Units of work to add an entry to a map. */
const entryWork = 60;

const insertOne: Evaluate = (meter, map, key, value = null) => {
  meter.work(entryWork);
  const grown = growing(map as MapValue);
  return insert(grown, { key: key as Value, value }) ?? grown;
};
const insertAll: Evaluate = (meter, map, more) => {
  meter.work(entryWork * (more as MapValue).size);
  const grown = growing(map as MapValue);
  for (const entry of (more as MapValue).entries()) {
    const error = insert(grown, entry);
    if (error) return error;
  }
  return grown;
};

/** Comprehensions with two variables: index and element of a list, key and value of a map. */
export const twoVariableLibrary: Library = {
  macros: twoVariableMacros,
  functions: [
    {
      name: "cel.@mapInsert",
      overloads: [
        overload("@mapInsert_map_key_value", [map, typeParameter("K"), typeParameter("V")], map, insertOne),
        overload("@mapInsert_map_map", [map, map], map, insertAll),
      ],
    },
  ],
};
