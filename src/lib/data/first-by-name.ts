/** Looks up the items of a list by name, as `find` would: of several with the same name, the first counts. */
export function firstByName<T extends { readonly name: string }>(items: readonly T[] = []): ReadonlyMap<string, T> {
  const found = new Map<string, T>();
  for (const item of items) if (!found.has(item.name)) found.set(item.name, item);
  return found;
}
