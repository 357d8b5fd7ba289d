/** Looks up a key that may be any text: inherited members such as `constructor` and `__proto__` are not found. */
export const own = <V>(map: Readonly<Record<string, V>> | undefined, key: string): V | undefined =>
  map && Object.hasOwn(map, key) ? map[key] : undefined;
