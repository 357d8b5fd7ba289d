/** A JSON value that shares nothing with the original; values that JSON cannot express are omitted. */
export function cloneJson<T>(value: T): T {
  return copy(value) as T;
}

function copy(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(copy);
  if ("toJSON" in value && typeof value.toJSON === "function") return copy(value.toJSON());
  return copyObject(value as Readonly<Record<string, unknown>>);
}

function copyObject(from: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const to: Record<string, unknown> = {};
  // Twice as fast as Object.entries; JSON values inherit nothing.
  for (const key in from) {
    const item = from[key];
    if (item === undefined) continue;
    const copied = typeof item === "object" ? copy(item) : item;
    // An assignment would change the prototype of the copy.
    if (key === "__proto__") Object.defineProperty(to, key, { ...plainProperty, value: copied });
    else to[key] = copied;
  }
  return to;
}

const plainProperty = { configurable: true, enumerable: true, writable: true };

/** JSON with sorted members: equal values have equal texts. `encode` writes names and values that have no parts. */
export function sortedJson(value: unknown, encode: (scalar: unknown) => string = JSON.stringify): string {
  if (Array.isArray(value)) return `[${value.map((item) => sortedJson(item ?? null, encode)).join(",")}]`;
  if (typeof value !== "object" || value === null) return encode(value ?? null);
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  members.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${encode(name)}:${sortedJson(member, encode)}`).join(",")}}`;
}
