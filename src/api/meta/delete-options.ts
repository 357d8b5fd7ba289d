import { nullable, optional } from "#schema/fields.ts";
import { type Infer, inPackage } from "#schema/schema.ts";
import { atomicList, boolean, int64, string } from "#schema/types.ts";
import { type Cursor } from "../cursor.ts";
import { TypeMetaFields } from "./object-meta.ts";

const object = inPackage("meta/v1");

export const Preconditions = object("Preconditions", "What must still be true of an object when it is deleted.", {
  uid: nullable(1, string(), "The UID that the object must have."),
  resourceVersion: nullable(2, string(), "The revision that the object must be at."),
});

const propagationPolicies = ["Foreground", "Background", "Orphan"];

export const DeleteOptions = object("DeleteOptions", "How an object is to be deleted.", {
  ...TypeMetaFields,
  gracePeriodSeconds: nullable(1, int64(), "Seconds that the object is given to end by itself; 0 deletes at once."),
  preconditions: nullable(2, Preconditions, "Refuse the deletion unless these hold."),
  orphanDependents: nullable(3, boolean(), "The older way to say Orphan or Background."),
  propagationPolicy: nullable(4, string(), "What happens to the objects it owns: Foreground, Background or Orphan."),
  dryRun: optional(5, atomicList(string()), "All goes through every step but changes nothing."),
  ignoreStoreReadErrorWithClusterBreakingPotential: nullable(6, boolean(), "Deletes an object that is unreadable."),
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
  const { dryRun, ...others } = at.value;
  const options = { dryRun: dryRun?.length ? dryRun : undefined, ...others };
  for (const name of [
    "dryRun",
    "propagationPolicy",
    "orphanDependents",
    "gracePeriodSeconds",
    "preconditions",
  ] as const) {
    if (options[name] === undefined) continue;
    at.field("ignoreStoreReadErrorWithClusterBreakingPotential").invalid(`cannot be set together with .${name}`);
  }
}
