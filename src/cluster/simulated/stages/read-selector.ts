import type { ApiObject } from "#api/resource.ts";
import { own } from "#lib/data/own.ts";
import type { Json } from "#lib/jq/jq.ts";
import { fields, list, oneOf, textFields, texts } from "../read-fields.ts";
import { readCel, readJq } from "./read-expression.ts";

type Matches = (object: ApiObject) => boolean;

/** Reads which objects a stage is for. All parts must hold. */
export function readSelector(value: unknown, where: string): Matches {
  if (value === undefined) throw new Error(`${where} is needed: a stage without it is for no object`);
  const given = fields(value, where, ["matchLabels", "matchAnnotations", "matchExpressions"]);
  const labels = textFields(given.matchLabels ?? {}, `${where}.matchLabels`);
  const annotations = textFields(given.matchAnnotations ?? {}, `${where}.matchAnnotations`);
  const expressions = list(given.matchExpressions ?? [], `${where}.matchExpressions`).map((one, index) =>
    readMatch(one, `${where}.matchExpressions[${index}]`),
  );
  return (object) =>
    hasAll(object.metadata.labels, labels) &&
    hasAll(object.metadata.annotations, annotations) &&
    expressions.every((matches) => matches(object));
}

const hasAll = (
  have: Readonly<Record<string, string>> | undefined,
  wanted: Readonly<Record<string, string>>,
): boolean => Object.entries(wanted).every(([key, value]) => own(have, key) === value);

/** `key`, `operator` and `values`, the same below `jq`, or an expression in `cel`. */
function readMatch(value: unknown, where: string): Matches {
  const given = fields(value, where, ["key", "operator", "values", "jq", "cel"]);
  if (given.cel !== undefined) {
    if (Object.keys(given).length > 1) throw new Error(`${where} has cel and other fields`);
    const holds = readCel(given.cel, `${where}.cel`);
    return (object) => holds(object) === true;
  }
  if (given.jq === undefined) return readRequirement(given, where);
  if (Object.keys(given).length > 1) throw new Error(`${where} has jq and other fields`);
  return readRequirement(fields(given.jq, `${where}.jq`, ["key", "operator", "values"]), `${where}.jq`);
}

const operators = ["In", "NotIn", "Exists", "DoesNotExist"] as const;

function readRequirement(given: Readonly<Record<string, unknown>>, where: string): Matches {
  const operator = oneOf(given.operator, `${where}.operator`, operators);
  const wanted = new Set(texts(given.values ?? [], `${where}.values`));
  const needsValues = operator === "In" || operator === "NotIn";
  if (needsValues !== wanted.size > 0) {
    throw new Error(`${where}.values must ${needsValues ? "not " : ""}be empty with the operator ${operator}`);
  }
  const run = readJq(given.key, `${where}.key`);
  const isWanted = (found: Json): boolean => typeof found !== "object" && wanted.has(String(found));
  switch (operator) {
    case "In":
      return (object) => run(object).some(isWanted);
    case "NotIn":
      return (object) => !run(object).some(isWanted);
    case "Exists":
      return (object) => run(object).length > 0;
    case "DoesNotExist":
      return (object) => run(object).length === 0;
  }
}
