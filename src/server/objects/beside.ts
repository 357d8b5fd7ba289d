import { type ApiObject, type Resource } from "#api/resource.ts";

/** Objects that are written in the same commit as another one, or not at all. */
export interface Beside {
  /** New ones. */
  readonly create: readonly Typed[];
  /** Those to remove, at the version that was read. */
  readonly remove: readonly Typed[];
}

export interface Typed {
  readonly resource: Resource;
  readonly object: ApiObject;
}

/** What belongs to a new object. */
export interface NewParts {
  readonly beside?: Beside | undefined;
  /** Its spec as JSON, if that has been made already. */
  readonly specText?: string | undefined;
}

/** An object beside the one to write was not as expected: it exists already, or it has changed. */
export class BesideRefused extends Error {
  override readonly name = "BesideRefused";
}
