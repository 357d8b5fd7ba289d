/** Deep equality of plain JSON values. A field that is undefined counts as absent. Shared parts are not compared. */
export function equal(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a)) return Array.isArray(b) && equalLists(a, b);
  return !Array.isArray(b) && equalObjects(a as Fields, b as Fields);
}

type Fields = Record<string, unknown>;

function equalLists(a: readonly unknown[], b: readonly unknown[]): boolean {
  if (a.length !== b.length) return false;
  for (let index = 0; index < a.length; index++) {
    if (!equal(a[index], b[index])) return false;
  }
  return true;
}

function equalObjects(a: Fields, b: Fields): boolean {
  let count = 0;
  for (const key in a) {
    const value = a[key];
    if (value === undefined) continue;
    count++;
    if (!Object.hasOwn(b, key) || !equal(value, b[key])) return false;
  }
  for (const key in b) {
    if (b[key] !== undefined) count--;
  }
  return count === 0;
}
