import { hash } from "node:crypto";
import { nameLetters } from "#lib/data/random.ts";
import { sortedJson } from "#lib/text/json.ts";

/** A short hash, for names and labels: equal for equal content, whatever the order of its fields. */
export function contentHash(content: unknown, collisions = 0): string {
  const text = `${sortedJson(content)}${collisions || ""}`;
  let rest = hash("sha256", text, "buffer").readUIntBE(0, 6);
  let name = "";
  while (name.length < 10) {
    name += nameLetters[rest % nameLetters.length];
    rest = Math.floor(rest / nameLetters.length);
  }
  return name;
}
