import { type CustomResourceVersion, type DefinitionSpec } from "#api/apiextensions/definition-fields.ts";
import { compareVersions } from "#api/compare-versions.ts";
import { type Deprecation } from "#api/resource.ts";

/** The warning with which requests for a deprecated version are answered. */
export function deprecationOf(
  { group, names, versions }: DefinitionSpec,
  version: CustomResourceVersion,
): Deprecation | undefined {
  if (!version.deprecated) return undefined;
  if (version.deprecationWarning !== undefined) return { warning: version.deprecationWarning };
  const newer = versions
    .filter(({ name, served, deprecated }) => served && !deprecated && compareVersions(version.name, name) < 0)
    .map(({ name }) => name)
    .sort((a, b) => compareVersions(b, a));
  return newer[0] === undefined ? {} : { use: `${group}/${newer[0]} ${names.kind}` };
}
