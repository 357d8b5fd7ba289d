import { hash } from "node:crypto";
import { nameLetters } from "#lib/data/random.ts";

/** A short hash, for names and labels: equal for equal content, whatever the order of its fields. */
export function contentHash(content: unknown, collisions = 0): string {
  const text = `${canonical(content)}${collisions || ""}`;
  let rest = hash("sha256", text, "buffer").readUIntBE(0, 6);
  let name = "";
  while (name.length < 10) {
    name += nameLetters[rest % nameLetters.length];
    rest = Math.floor(rest / nameLetters.length);
  }
  return name;
}

/** JSON with sorted fields. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const entries = Object.entries(value).filter(([, field]) => field !== undefined);
  entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, field]) => `${JSON.stringify(key)}:${canonical(field)}`).join(",")}}`;
}
