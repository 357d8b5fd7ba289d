import { faultsIn } from "#api/cursor.ts";
import { validateFieldManager } from "#api/meta/validate-meta.ts";
import { badRequest, invalid, type StatusError } from "#api/status.ts";
import { isSet } from "#lib/net/query-flag.ts";
import { type FieldError, root, unsupportedValue } from "#schema/field-error.ts";
import { managerOf } from "#server/apply/fields/managed-fields.ts";
import { type Context } from "#server/request/pipeline.ts";

/** The options in the query of a write. */
export interface WriteOptions {
  readonly dryRun: boolean;
  /** The writer's name in managed fields. */
  readonly manager: string;
  readonly fieldValidation: "Strict" | "Warn" | "Ignore";
  readonly force: boolean;
}

const fieldValidations = ["Ignore", "Strict", "Warn"] as const;

/** Upstream's name of a verb's options, for errors. */
export type OptionsKind = `${"Create" | "Update" | "Patch" | "Delete" | "List"}Options`;

export function writeOptions({ query, request }: Context, kind: OptionsKind): WriteOptions {
  const agent = request.headers["user-agent"] ?? "";
  if (query.size === 0) return { dryRun: false, manager: managerOf("", agent), fieldValidation: "Warn", force: false };
  const faults: FieldError[] = [];
  const dryRun = query.getAll("dryRun");
  if (dryRun.some((value) => value !== "All")) faults.push(unsupportedValue(root.child("dryRun"), dryRun, ["All"]));
  const asked = query.get("fieldValidation") || "Warn";
  const fieldValidation = fieldValidations.find((value) => value === asked);
  if (!fieldValidation) faults.push(unsupportedValue(root.child("fieldValidation"), asked, ["", ...fieldValidations]));
  const manager = query.get("fieldManager") ?? "";
  faultsIn(manager, (at) => validateFieldManager(at.under("fieldManager")), faults);
  if (faults.length > 0) throw optionsFault(kind, faults);
  return {
    dryRun: dryRun.length > 0,
    manager: managerOf(manager, agent),
    fieldValidation: fieldValidation ?? "Warn",
    force: isSet(query, "force"),
  };
}

/** The error for a value that is not an integer. */
export const notANumber = (text: string): StatusError =>
  badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);

export const optionsFault = (kind: OptionsKind, faults: readonly FieldError[]): StatusError =>
  invalid({ group: "meta.k8s.io", kind }, "", faults);
