/** The items that are not among the others, in time linear in both lists. */
export function withoutAll(items: readonly string[], others: readonly string[]): readonly string[] {
  if (items.length === 0 || others.length === 0) return items;
  if (items.length * others.length <= 64) return items.filter((item) => !others.includes(item));
  const known = new Set(others);
  return items.filter((item) => !known.has(item));
}
