import { type ApiObject, type Column } from "../resource.ts";
import { age } from "./age.ts";

/** A column of a table; the description is for clients. */
export const column = <T>(name: string, description: string, value: Column<T>["value"]): Column<T> => ({
  name,
  type: "string",
  description,
  value,
});
/** The same for a number. */
export const numberColumn = <T>(name: string, description: string, value: Column<T>["value"]): Column<T> => ({
  ...column(name, description, value),
  type: "integer",
});
/** A column that only `-o wide` shows. */
export const wide = <T>(column: Column<T>): Column<T> => ({ ...column, priority: 1 });

/** The column that nearly every kind ends with. */
export const ageColumn: Column<ApiObject> = column("Age", "Time since the object was created.", (object, now) =>
  age(object.metadata.creationTimestamp, now),
);

/** At most three of the texts, and how many more there are. */
export function fewOf(texts: readonly string[]): string {
  const shown = texts.slice(0, 3).join(",");
  return texts.length > 3 ? `${shown} + ${texts.length - 3} more...` : shown || "<unset>";
}
