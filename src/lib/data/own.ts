/** The value under a key that may be any text: what every object inherits (`constructor`, `__proto__`) is not in it. */
export const own = <V>(map: Readonly<Record<string, V>> | undefined, key: string): V | undefined =>
  map && Object.hasOwn(map, key) ? map[key] : undefined;
