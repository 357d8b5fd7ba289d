import { type CustomResourceColumn } from "#api/apiextensions/definition-fields.ts";
import { age } from "#api/meta/age.ts";
import { ageColumn } from "#api/meta/columns.ts";
import { type ApiObject, type Column, type RowRoom } from "#api/resource.ts";
import { compileJsonPath, type JsonPath, maxVisited } from "#lib/text/json-path-values.ts";

/** More columns than anybody reads, but few enough to be computed for every row. */
const maxColumns = 100;
/** A longer text is cut, as is the text of a row that is longer altogether. */
const maxCellChars = 32 * 1024;

/** The columns of a version; without any, the age of the object. */
export function columnsOf(columns: readonly CustomResourceColumn[] | undefined): readonly Column<ApiObject>[] {
  if (!columns || columns.length === 0) return [ageColumn];
  return columns.slice(0, maxColumns).map(columnOf);
}

function columnOf({ name, type, format, description, priority, jsonPath }: CustomResourceColumn): Column<ApiObject> {
  let path: JsonPath | undefined;
  return {
    name,
    type: type as Column<ApiObject>["type"],
    description: description || `Custom resource definition column (in JSONPath format): ${jsonPath}`,
    ...(format ? { format } : {}),
    ...(priority ? { priority } : {}),
    value(object, now, room = { chars: maxCellChars, values: maxVisited }) {
      path ??= compileJsonPath(jsonPath) ?? { valuesIn: () => [] };
      const budget = { left: Math.min(maxVisited, room.values) };
      room.values -= budget.left;
      const [value] = path.valuesIn(object, budget);
      room.values += Math.max(budget.left, 0);
      return value === undefined || value === null ? undefined : cellOf(type, value, { now, room });
    },
  };
}

function cellOf(type: string, value: unknown, { now, room }: { now: number; room: RowRoom }): unknown {
  switch (type) {
    case "integer":
      return typeof value === "number" ? Math.trunc(value) : undefined;
    case "number":
      return typeof value === "number" ? value : undefined;
    case "boolean":
      return typeof value === "boolean" ? value : undefined;
    case "date":
      return typeof value === "string" ? dateCell(value, now) : undefined;
    default:
      return textCell(value, room);
  }
}

/** Writing an object takes long, so none is written for which there is no room. */
function textCell(value: unknown, room: RowRoom): string {
  if (room.chars <= 0) return "…";
  const text = typeof value === "object" ? JSON.stringify(value) : String(value);
  const shown = text.length <= room.chars ? text : `${text.slice(0, room.chars)}…`;
  room.chars -= text.length;
  return shown;
}

const dateCell = (text: string, now: number): string => (Number.isNaN(Date.parse(text)) ? "<invalid>" : age(text, now));
