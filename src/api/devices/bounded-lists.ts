import { type Cursor } from "../cursor.ts";

/** Visits the items of a list of at most `max` items. If there are more, that is its only fault, and the result is false. */
export function eachUpTo<T>(
  list: Cursor<readonly T[] | undefined>,
  max: number,
  visit: (at: Cursor<T>) => void,
): boolean {
  const items = list.value ?? [];
  if (items.length > max) {
    list.tooMany(items.length, max);
    return false;
  }
  for (const [index, item] of items.entries()) {
    if (list.isFull) break;
    visit(list.key(index, item));
  }
  return true;
}

interface Unique<T> {
  readonly max: number;
  /** What no two items may have in common. */
  keyOf(item: T): string;
  /** What a fault shows of the key, if not the key itself. */
  shown?(item: T): unknown;
  visit(at: Cursor<T>): void;
}

/** The same for a list in which each item has its own key. */
export function eachUnique<T>(list: Cursor<readonly T[] | undefined>, rules: Unique<T>): void {
  if (!eachUpTo(list, rules.max, (at) => rules.visit(at))) return;
  const seen = new Set<string>();
  for (const [index, item] of (list.value ?? []).entries()) {
    if (list.isFull) return;
    const key = rules.keyOf(item);
    if (seen.has(key)) list.key(index, item).duplicate(rules.shown?.(item) ?? key);
    seen.add(key);
  }
}

interface Entries<T> {
  /** Longer keys are shortened in paths. */
  readonly maxKeyChars: number;
  /** Its faults are those of the map. */
  checkKey(map: Cursor, key: string): void;
  visit?(at: Cursor<T>): void;
}

/** Visits the keys and the values of a map. */
export function eachEntry<T>(map: Cursor<Readonly<Record<string, T>> | undefined>, rules: Entries<T>): void {
  for (const [key, value] of Object.entries(map.value ?? {})) {
    if (map.isFull) return;
    rules.checkKey(map, key);
    rules.visit?.(map.key(shortened(key, rules.maxKeyChars), value));
  }
}

/** Leaves out the middle of a text that is too long. */
function shortened(text: string, max: number): string {
  if (text.length <= max) return text;
  const kept = max - "...".length;
  return `${text.slice(0, Math.ceil(kept / 2))}...${text.slice(text.length - Math.floor(kept / 2))}`;
}
