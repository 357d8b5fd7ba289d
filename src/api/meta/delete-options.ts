import { nullable, optional } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { atomicList, boolean, int64, string } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";
import { TypeMetaFields } from "./object-meta.ts";

const object = inPackage("meta/v1");

const propagationPolicies = ["Foreground", "Background", "Orphan"];

export const DeleteOptions = object("DeleteOptions", "How to delete an object.", {
  ...TypeMetaFields,
  gracePeriodSeconds: nullable(1, int64(), "Seconds that the object has to shut down; 0 deletes it at once."),
  preconditions: object.nullable(2, "Preconditions", "What must hold for the object, or it is not deleted.", {
    uid: nullable(1, string(), "UID that the object must have."),
    resourceVersion: nullable(2, string(), "Version that the object must have."),
  }),
  orphanDependents: nullable(3, boolean(), "Deprecated: use propagationPolicy. True means Orphan, false Background."),
  propagationPolicy: nullable(4, string(), "What happens to dependents: Foreground, Background or Orphan."),
  dryRun: optional(5, atomicList(string()), "All runs every step of the deletion but does not store the result."),
  ignoreStoreReadErrorWithClusterBreakingPotential: nullable(6, boolean(), "Deletes even if the object is unreadable."),
});
export interface DeleteOptions extends Infer<typeof DeleteOptions> {}

export function validateDeleteOptions(at: Cursor<DeleteOptions>): void {
  const { orphanDependents, dryRun = [] } = at.value;
  at.on("propagationPolicy", (at) => {
    if (orphanDependents !== undefined) at.invalid("orphanDependents and deletionPropagation cannot be both set");
    if (!propagationPolicies.includes(at.value)) at.unsupported([...propagationPolicies, "nil"]);
  });
  if (dryRun.some((value) => value !== "All")) at.field("dryRun").unsupported(["All"]);
  if (at.value.ignoreStoreReadErrorWithClusterBreakingPotential) validateUnsafe(at);
}

function validateUnsafe(at: Cursor<DeleteOptions>): void {
  const { dryRun = [], propagationPolicy, orphanDependents, gracePeriodSeconds, preconditions } = at.value;
  const refused = { dryRun: dryRun[0], propagationPolicy, orphanDependents, gracePeriodSeconds, preconditions };
  for (const [name, value] of Object.entries(refused)) {
    if (value === undefined) continue;
    at.field("ignoreStoreReadErrorWithClusterBreakingPotential").invalid(`cannot be set together with .${name}`);
  }
}
