/** Freezes a JSON value and all in it; what is frozen already is taken to be frozen all the way down. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  if (Array.isArray(value)) for (const item of value) deepFreeze(item);
  else for (const key in value) deepFreeze(value[key]);
  return Object.freeze(value);
}
