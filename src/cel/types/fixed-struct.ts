import { structType, type Type } from "./type.ts";

/** The type of an object with exactly these fields. */
export const fixedStruct = (name: string, fields: Readonly<Record<string, Type>>): Type =>
  structType(name, {
    field(field) {
      const type = Object.hasOwn(fields, field) ? fields[field] : undefined;
      return type && { type };
    },
  });
