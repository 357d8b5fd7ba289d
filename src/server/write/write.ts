import { type ApiObject, type Resource } from "#api/resource.ts";
import { type Clock } from "#lib/async/clock.ts";
import { type Random } from "#lib/data/random.ts";
import { type Admission } from "#server/admission/chain.ts";
import { type OptionsKind, type WriteOptions, writeOptions } from "#server/input/options.ts";
import { type Beside } from "#server/objects/beside.ts";
import { type Objects } from "#server/objects/objects.ts";
import { type ResourceRegistry } from "#server/registry.ts";
import { type Context } from "#server/request/pipeline.ts";

/** One write: what, where and by whom. */
export interface Write<T extends ApiObject = ApiObject> {
  readonly context: Context;
  readonly resource: Resource<T>;
  /** "" for the resource itself. */
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  readonly options: WriteOptions;
  /** The server itself made the change from a valid object: only its effect is checked, not the whole object. */
  readonly trusted?: boolean;
  /** The managed fields are already final: from server-side apply, or because the write has no manager. */
  readonly applied?: boolean;
}

/** The write that a request asks for, with the options in its query. */
export function writeOf(context: Context, resource: Resource, kind: OptionsKind): Write {
  const { namespace, name, subresource } = context.info;
  return { context, resource, subresource, namespace, name, options: writeOptions(context, kind) };
}

export interface WriteDeps {
  readonly objects: Objects;
  readonly admission: Admission;
  readonly clock: Clock;
  readonly random: Random;
  /** Every kind that is served, with its versions. */
  readonly resources: ResourceRegistry;
  /** What other parts of the server do with an object before it is written: allocate addresses, check escalation. */
  readonly hooks: readonly WriteHook[];
  /** What is removed in the same commit as this object. */
  besideRemoved(resource: Resource, object: ApiObject): Beside | undefined;
  /**
   * Throws 403 if the user may not create what the request names; called when an update or a patch becomes a create.
   */
  authorizeCreate(context: Context): Promise<void>;
}

/** Runs after validation and before the write. May change the object and claim what belongs to it. */
export type WriteHook = (
  write: Write,
  object: ApiObject,
  old: ApiObject | undefined,
) => Promise<Claim | undefined> | undefined;

/** What a hook has claimed for an object. */
export interface Claim {
  /** Written in the same commit. */
  readonly beside?: Beside | undefined;
  /** Takes back what the hook has changed in the object: it was not written. */
  undo?(): void;
  /** The write has ended. */
  end?(): void;
}

/** The object to write. It is not shared yet, so a step may change it. */
export interface Version {
  readonly object: ApiObject;
  /** The current object, which is shared and must not be changed. undefined for a new object. */
  readonly old: ApiObject | undefined;
}

/** The next version of an object. */
export interface Change extends Version {
  readonly old: ApiObject;
}
