import { type ApiObject, type Column } from "../resource.ts";
import { age } from "./age.ts";

/** The column that nearly every kind ends with. */
export const ageColumn: Column<ApiObject> = {
  name: "Age",
  type: "string",
  description: "Time since the object was created.",
  value: (object, now) => age(object.metadata.creationTimestamp, now),
};

/** At most three of the texts, and how many more there are. */
export function fewOf(texts: readonly string[]): string {
  const shown = texts.slice(0, 3).join(",");
  return texts.length > 3 ? `${shown} + ${texts.length - 3} more...` : shown || "<unset>";
}
