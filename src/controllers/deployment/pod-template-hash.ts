import { type PodTemplateSpec } from "#api/core/pod-template.ts";
import { contentHash } from "#controllers/shared/content-hash.ts";
import { equal } from "#lib/data/equal.ts";

export const hashLabel = "pod-template-hash";

/** A short hash of a template: equal for equal content, whatever the order of its fields. */
export function podTemplateHash(template: PodTemplateSpec, collisions = 0): string {
  return contentHash(template, collisions);
}

/** Whether two templates create the same pods; the label that distinguishes the sets does not count. */
export const sameTemplate = (a: PodTemplateSpec, b: PodTemplateSpec): boolean =>
  equal(a.spec, b.spec) && equal(withoutHash(a), withoutHash(b));

function withoutHash({ metadata }: PodTemplateSpec): object {
  const { labels, ...rest } = metadata;
  const { [hashLabel]: _, ...others } = labels ?? {};
  return { ...rest, labels: others };
}
