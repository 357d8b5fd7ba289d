import { faultsIn } from "#api/cursor.ts";
import { validateLabels } from "#api/meta/label-selector.ts";
import { validateAnnotations } from "#api/meta/validate-meta.ts";
import { type ApiObject } from "#api/resource.ts";
import { equal } from "#lib/data/equal.ts";
import { isObject } from "#lib/data/json-object.ts";
import { truncateBytes } from "#lib/text/truncate.ts";
import { ConversionFault } from "./conversion-fault.ts";

type Json = Readonly<Record<string, unknown>>;

/**
 * The object that a webhook made of another one. It must be the same object in the right version. Of its metadata, only
 * labels and annotations are the webhook's. Throws ConversionFault.
 */
export function checkConverted(original: ApiObject, converted: unknown, apiVersion: string): ApiObject {
  if (!isObject(converted)) throw invalid(`returned invalid object at index 0: an object was expected`);
  const { metadata: sent } = converted;
  expect("groupVersion", apiVersion, converted.apiVersion);
  expect("kind", original.kind, converted.kind);
  checkIdentity(original.metadata, isObject(sent) ? sent : {});
  if (!isObject(sent)) {
    throw invalid(
      sent === undefined
        ? "returned invalid metadata: missing metadata in converted object"
        : `returned invalid metadata: invalid metadata of type ${goType(sent)} in converted object`,
    );
  }
  const metadata = { ...original.metadata };
  for (const name of ["labels", "annotations"] as const) {
    const texts = textsIn(name, sent[name], original.metadata[name]);
    if (texts) metadata[name] = texts;
    else delete metadata[name];
  }
  return { ...converted, metadata } as unknown as ApiObject;
}

function expect(what: string, expected: unknown, received: unknown): void {
  if (expected === received) return;
  const shown = shownValue(received);
  throw invalid(`returned invalid object at index 0: invalid ${what} (expected ${expected}, received ${shown})`);
}

/** A webhook may send anything, also objects that cannot be turned into text by `String`. */
const shownValue = (value: unknown): string =>
  truncateBytes(typeof value === "object" ? goType(value) : String(value ?? ""), 256);

const identity = [
  ["name", "name"],
  ["namespace", "namespace"],
  ["uid", "UID"],
] as const;

function checkIdentity(original: ApiObject["metadata"], sent: Json): void {
  for (const [field, shown] of identity) {
    const [before, after] = [original[field] ?? "", sent[field] ?? ""];
    if (before === after) continue;
    const told = shownValue(after);
    throw invalid(`returned invalid object: must have the same ${shown}: ${before} != ${told}`);
  }
}

/** Labels or annotations. Those that did not change may be invalid, because they were so before. */
function textsIn(name: "labels" | "annotations", sent: unknown, before: unknown): Record<string, string> | undefined {
  if (sent === undefined || sent === null) return undefined;
  const refuse = (why: string) => invalid(`returned invalid metadata: ${why}`);
  if (!isObject(sent)) throw refuse(`invalid metadata.${name} of type ${goType(sent)} in converted object`);
  for (const [key, value] of Object.entries(sent)) {
    if (typeof value === "string") continue;
    const shown = truncateBytes(key, 256);
    throw refuse(`metadata.${name}[${shown}] must be a string, but is ${goType(value)} in converted object`);
  }
  const texts = sent as Record<string, string>;
  if (equal(texts, before)) return texts;
  const faults = faultsIn(texts, (at) =>
    // The paths are upstream's.
    name === "labels"
      ? validateLabels(at.under("metadata", "labels"))
      : validateAnnotations(at.under("metadata", "annotation")),
  );
  const [first, ...others] = faults.slice(0, maxShown).map(({ path, message }) => `${path}: ${message}`);
  if (first !== undefined) throw refuse(others.length > 0 ? `[${[first, ...others].join(", ")}]` : first);
  return texts;
}
const maxShown = 10;

function goType(value: unknown): string {
  if (value === null) return "<nil>";
  if (Array.isArray(value)) return "[]interface {}";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "number") return Number.isInteger(value) ? "int64" : "float64";
  return typeof value === "object" ? "map[string]interface {}" : "string";
}

const invalid = (told: string): ConversionFault =>
  new ConversionFault("conversion_webhook_invalid_converted_object_failure", told);
