/** A JSON value that shares nothing with the other; what JSON has no word for is left out. */
export function cloneJson<T>(value: T): T {
  return copy(value) as T;
}

function copy(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(copy);
  if ("toJSON" in value && typeof value.toJSON === "function") return copy(value.toJSON());
  const to: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) {
    if (item === undefined) continue;
    const copied = typeof item === "object" ? copy(item) : item;
    if (key === "__proto__") Object.defineProperty(to, key, { ...plainProperty, value: copied });
    else to[key] = copied;
  }
  return to;
}

const plainProperty = { configurable: true, enumerable: true, writable: true };
