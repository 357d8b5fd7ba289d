import { type FieldError, invalidValue, root, unsupportedValue } from "#schema/field-error.ts";
import { boolean, type Infer, int64, list, nullable, object, optional, string } from "#schema/schema.ts";
import { TypeMetaFields } from "./object-meta.ts";

export const Preconditions = object(
  "meta/v1.Preconditions",
  {
    uid: nullable(1, string(), "The UID that the object must have."),
    resourceVersion: nullable(2, string(), "The revision that the object must be at."),
  },
  { doc: "What must still be true of an object when it is deleted." },
);
export interface Preconditions extends Infer<typeof Preconditions> {}

const propagationPolicies = ["Foreground", "Background", "Orphan"];

export const DeleteOptions = object(
  "meta/v1.DeleteOptions",
  {
    ...TypeMetaFields,
    gracePeriodSeconds: nullable(1, int64(), "Seconds that the object is given to end by itself; 0 deletes at once."),
    preconditions: nullable(2, Preconditions, "Refuse the deletion unless these hold."),
    orphanDependents: nullable(3, boolean(), "The older way to say Orphan or Background."),
    propagationPolicy: nullable(4, string(), "What happens to the objects it owns: Foreground, Background or Orphan."),
    dryRun: optional(5, list(string(), { list: "atomic" }), "All goes through every step but changes nothing."),
    ignoreStoreReadErrorWithClusterBreakingPotential: nullable(
      6,
      boolean(),
      "Deletes an object that cannot be read back from the store, without its finalizers.",
    ),
  },
  { doc: "How an object is to be deleted." },
);
export interface DeleteOptions extends Infer<typeof DeleteOptions> {}

export function* validateDeleteOptions(options: DeleteOptions): Iterable<FieldError> {
  const { orphanDependents, propagationPolicy, dryRun = [] } = options;
  const path = root.child("propagationPolicy");
  if (propagationPolicy !== undefined) {
    if (orphanDependents !== undefined) {
      yield invalidValue(path, propagationPolicy, "orphanDependents and deletionPropagation cannot be both set");
    }
    if (!propagationPolicies.includes(propagationPolicy)) {
      yield unsupportedValue(path, propagationPolicy, [...propagationPolicies, "nil"]);
    }
  }
  if (dryRun.some((value) => value !== "All")) yield unsupportedValue(root.child("dryRun"), dryRun, ["All"]);
  if (options.ignoreStoreReadErrorWithClusterBreakingPotential) yield* validateUnsafe(options);
}

function* validateUnsafe(options: DeleteOptions): Iterable<FieldError> {
  const path = root.child("ignoreStoreReadErrorWithClusterBreakingPotential");
  const set = {
    dryRun: (options.dryRun ?? []).length > 0,
    propagationPolicy: options.propagationPolicy !== undefined,
    orphanDependents: options.orphanDependents !== undefined,
    gracePeriodSeconds: options.gracePeriodSeconds !== undefined,
    preconditions: options.preconditions !== undefined,
  };
  for (const [name, isSet] of Object.entries(set)) {
    if (isSet) yield invalidValue(path, true, `cannot be set together with .${name}`);
  }
}
