import { type ManagedFieldsEntry } from "#api/meta/object-meta.ts";
import { StatusError } from "#api/status.ts";
import { idText } from "./entries.ts";
import { difference, type FieldSet, isBare, pathsOf } from "./field-set.ts";

/** Fields of another manager that the configuration would change. */
export interface Conflict {
  readonly entry: ManagedFieldsEntry;
  readonly fields: FieldSet;
}

/** The conflicts that remain without those in `allowed`. */
export function without(conflicts: readonly Conflict[], allowed: FieldSet): Conflict[] {
  return conflicts
    .map(({ entry, fields }) => ({ entry, fields: difference(fields, allowed) }))
    .filter(({ fields }) => !isBare(fields));
}

/** Names every field and its owner, in upstream's words. */
export function conflictError(conflicts: readonly Conflict[]): StatusError {
  const found = conflicts
    .toSorted((a, b) => (idText(a.entry) < idText(b.entry) ? -1 : 1))
    .map(({ entry, fields }) => ({ owner: ownerText(entry), paths: [...pathsOf(fields)] }));
  const causes = found.flatMap(({ owner, paths }) =>
    paths.map((field) => ({ reason: "FieldManagerConflict", message: `conflict with ${owner}`, field })),
  );
  return new StatusError("Conflict", message(found, causes.length), { causes });
}

function message(found: readonly { owner: string; paths: string[] }[], count: number): string {
  const [only] = found;
  if (count === 1 && only) return `Apply failed with 1 conflict: conflict with ${only.owner}: ${only.paths[0]}`;
  const lines = found.flatMap(({ owner, paths }) => [`conflicts with ${owner}:`, ...paths.map((path) => `- ${path}`)]);
  return `Apply failed with ${count} conflicts: ${lines.join("\n")}`;
}

function ownerText({ manager, operation, apiVersion, subresource }: ManagedFieldsEntry): string {
  const name = JSON.stringify(manager ?? "") + (subresource ? ` with subresource ${JSON.stringify(subresource)}` : "");
  return operation === "Update" ? `${name} using ${apiVersion}` : name;
}
