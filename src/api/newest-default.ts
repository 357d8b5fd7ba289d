import { type Stored } from "#api/resource.ts";
import { compareText } from "#lib/data/compare-text.ts";

/** The newest of several default classes, and of equally old ones the first by name. */
export const newestDefault = <T extends Stored>(classes: readonly T[], isDefault: (one: T) => boolean): T | undefined =>
  classes
    .filter(isDefault)
    .sort(
      ({ metadata: a }, { metadata: b }) =>
        compareText(b.creationTimestamp, a.creationTimestamp) || compareText(a.name, b.name),
    )[0];
