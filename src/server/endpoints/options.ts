import { validateFieldManager } from "#api/meta/validate-meta.ts";
import { badRequest, invalid, type StatusError } from "#api/status.ts";
import { type FieldError, root, unsupportedValue } from "#schema/field-error.ts";
import { managerOf } from "../apply/managed-fields.ts";
import { type Context } from "../pipeline.ts";

/** What the query of a write says besides the object. */
export interface WriteOptions {
  readonly dryRun: boolean;
  /** Who writes, in managed fields. */
  readonly manager: string;
  readonly fieldValidation: "Strict" | "Warn" | "Ignore";
  readonly force: boolean;
}

const fieldValidations = ["Ignore", "Strict", "Warn"] as const;

export function writeOptions({ query, request }: Context, kind: string): WriteOptions {
  const agent = request.headers["user-agent"] ?? "";
  if (query.size === 0) return { dryRun: false, manager: managerOf("", agent), fieldValidation: "Warn", force: false };
  const faults: FieldError[] = [];
  const dryRun = query.getAll("dryRun");
  if (dryRun.some((value) => value !== "All")) faults.push(unsupportedValue(root.child("dryRun"), dryRun, ["All"]));
  const asked = query.get("fieldValidation") || "Warn";
  const fieldValidation = fieldValidations.find((value) => value === asked);
  if (!fieldValidation) faults.push(unsupportedValue(root.child("fieldValidation"), asked, ["", ...fieldValidations]));
  const manager = query.get("fieldManager") ?? "";
  faults.push(...validateFieldManager(manager, root.child("fieldManager")));
  if (faults.length > 0) throw optionsFault(kind, faults);
  return {
    dryRun: dryRun.length > 0,
    manager: managerOf(manager, agent),
    fieldValidation: fieldValidation ?? "Warn",
    force: isTrue(query.get("force")),
  };
}

/** What a query has where a whole number belongs. */
export const notANumber = (text: string): StatusError =>
  badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);

export const optionsFault = (kind: string, faults: readonly FieldError[]): StatusError =>
  invalid({ group: "meta.k8s.io", kind }, "", faults);

/** As upstream reads them: given without a value they are true, and so is all but `false` and `0`. */
export const isTrue = (value: string | null): boolean =>
  value !== null && value !== "0" && value.toLowerCase() !== "false";
