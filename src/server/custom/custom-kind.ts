import { type CustomResourceDefinition, type CustomResourceVersion } from "#api/apiextensions/definition-fields.ts";
import { type Conversion } from "#api/conversion.ts";
import { type Resource } from "#api/resource.ts";

/** A custom kind, with what all its versions share. */
export interface CustomKind {
  readonly group: string;
  readonly plural: string;
  /** The definition as it is now; undefined once it is gone. It is parsed again on every call. */
  definition(): CustomResourceDefinition | undefined;
  /** The version in which objects are stored. */
  readonly storage: Resource | undefined;
  readonly isTerminating: boolean;
  /** How objects are converted by a webhook; undefined if versions differ in their name alone. */
  readonly conversion: Conversion | undefined;
}

/** A version of a definition; undefined if it is gone. */
export const versionIn = (kind: CustomKind, name: string): CustomResourceVersion | undefined =>
  kind.definition()?.spec.versions.find((version) => version.name === name);
