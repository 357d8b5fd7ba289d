import { hash } from "node:crypto";
import { type PodTemplateSpec } from "#api/core/pod-template.ts";
import { equal } from "#lib/data/equal.ts";
import { nameLetters } from "#lib/data/random.ts";

export const hashLabel = "pod-template-hash";

/** A short hash of a template: equal for equal content, whatever the order of its fields. */
export function podTemplateHash(template: PodTemplateSpec, collisions = 0): string {
  const text = `${canonical(template)}${collisions || ""}`;
  let rest = hash("sha256", text, "buffer").readUIntBE(0, 6);
  let name = "";
  while (name.length < 10) {
    name += nameLetters[rest % nameLetters.length];
    rest = Math.floor(rest / nameLetters.length);
  }
  return name;
}

/** Whether two templates create the same pods; the label that distinguishes the sets does not count. */
export const sameTemplate = (a: PodTemplateSpec, b: PodTemplateSpec): boolean =>
  equal(a.spec, b.spec) && equal(withoutHash(a), withoutHash(b));

function withoutHash({ metadata }: PodTemplateSpec): object {
  const { labels, ...rest } = metadata;
  const { [hashLabel]: _, ...others } = labels ?? {};
  return { ...rest, labels: others };
}

/** JSON with sorted fields. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const entries = Object.entries(value).filter(([, field]) => field !== undefined);
  entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, field]) => `${JSON.stringify(key)}:${canonical(field)}`).join(",")}}`;
}
